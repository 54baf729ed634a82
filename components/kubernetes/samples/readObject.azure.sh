# shellcheck shell=sh
# Takes the identity of the pod's service account by its token and reads a blob that only this identity may read.
set -eu
: "${AZURE_CLIENT_ID:?this pod has no identity}"
answer=$(curl --silent --show-error --fail "$AZURE_AUTHORITY_HOST$AZURE_TENANT_ID/oauth2/v2.0/token" \
  --data grant_type=client_credentials --data "client_id=$AZURE_CLIENT_ID" \
  --data-urlencode scope=https://storage.azure.com/.default \
  --data-urlencode client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer \
  --data-urlencode "client_assertion@$AZURE_FEDERATED_TOKEN_FILE")
token=$(printf '%s' "$answer" | sed -n 's|.*"access_token": *"\([^"]*\)".*|\1|p')
curl --silent --show-error --fail --header "Authorization: Bearer $token" --header "x-ms-version: 2021-12-02" "$OBJECT_URL"
