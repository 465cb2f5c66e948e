/** The part of openid-client that signs people in: loaded with the first of them, and the bundle has no more of it. */
export {
  allowInsecureRequests,
  authorizationCodeGrant,
  buildAuthorizationUrl,
  ClientSecretBasic,
  calculatePKCECodeChallenge,
  customFetch,
  discovery,
  None,
  randomPKCECodeVerifier,
  randomState,
} from 'openid-client';
