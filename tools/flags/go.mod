module fenestra.dev/tools/flags

go 1.26.0
