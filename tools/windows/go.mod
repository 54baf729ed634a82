module fenestra.dev/tools/windows

go 1.26.0
