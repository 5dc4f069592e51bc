// The header that authenticates a curl command. The shell stops with the message if TOKEN is not set.
export const CURL_TOKEN = '-H "Authorization: Bearer ${TOKEN:?set it to one of your tokens, see Settings}"';
