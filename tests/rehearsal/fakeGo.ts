/** Go for a build: each program tells what it was built from, and answers a checker's request with that. */
export const fakeGo = `#!/bin/bash
mod=go.mod
packages=()
while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift ;; -ldflags) flags=$2; shift ;; -modfile=*) mod=\${1#*=} ;; */*) packages+=("$1") ;; esac; shift; done
[[ " \${packages[*]} " != *" $FAIL_PACKAGE "* ]] || { echo "no such module" >&2; exit 1; }
echo "\${packages[*]}" >> "\${0%/*}/built.log"
/bin/sleep "\${GO_SECONDS:-0}"
for each in "\${packages[@]}"; do
  name=\${each%/v3}; file=$out
  [ "\${#packages[@]}" = 1 ] || file=$out\${name##*/}
  printf '#!/bin/bash\\n# %s\\ncat >/dev/null\\necho %q\\n' "$each|$PWD|$mod|$CGO_ENABLED|$GOOS/$GOARCH|$flags" \\
    "[{\\"id\\":\\"a\\",\\"problems\\":[\\"$each $mod\\"]}]" > "$file"
  /bin/chmod +x "$file"
done
`;
