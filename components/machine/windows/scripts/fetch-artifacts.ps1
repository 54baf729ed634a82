# Artifacts: what the node needs to become Ready, and what its first pod needs.
param($Machine)
. "$PSScriptRoot/fetch-files.ps1"
Install-Artifacts $Machine 'artifacts'
