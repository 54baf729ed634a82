# shellcheck shell=sh
# Takes the role of the pod's service account by its token and reads an object that only this role may read.
set -eu
: "${AWS_ROLE_ARN:?this pod has no identity}"
answer=$(curl --silent --show-error --fail "https://sts.$AWS_REGION.amazonaws.com/" \
  --data Action=AssumeRoleWithWebIdentity --data Version=2011-06-15 --data RoleSessionName=sample \
  --data-urlencode "RoleArn=$AWS_ROLE_ARN" --data-urlencode "WebIdentityToken@$AWS_WEB_IDENTITY_TOKEN_FILE")
field() { printf '%s' "$answer" | sed -n "s|.*<$1>\(.*\)</$1>.*|\1|p"; }
curl --silent --show-error --fail --aws-sigv4 "aws:amz:$AWS_REGION:s3" \
  --user "$(field AccessKeyId):$(field SecretAccessKey)" --header "x-amz-security-token: $(field SessionToken)" "$OBJECT_URL"
