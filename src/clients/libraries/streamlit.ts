import { type Library, lines, quoted, type SnippetValues } from './library.ts';

const secrets = (client: SnippetValues) =>
  lines(
    '[auth]',
    `redirect_uri = ${quoted(client.redirect_uri)}`,
    'cookie_secret = "paste-a-long-random-text-here"',
    `client_id = ${quoted(client.client_id)}`,
    'client_secret = "paste-the-secret-here" # this file stays out of the repository',
    `server_metadata_url = ${quoted(`${client.issuer}/.well-known/openid-configuration`)}`,
    `client_kwargs = { scope = ${quoted(client.scope)} }`,
  );

const app = () =>
  lines(
    'import streamlit as st',
    '',
    'if not st.user.is_logged_in:',
    '    if st.button("Sign in"):',
    '        st.login()',
    '    st.stop()',
    '',
    'st.write("Hello,", st.user.name)',
    'if st.button("Sign out"):',
    '    st.logout()  # returns to the redirect URI',
  );

export const streamlit: Library = {
  id: 'streamlit',
  name: 'Streamlit (st.login)',
  ecosystem: 'Python',
  kinds: ['web'],
  homepage: 'https://docs.streamlit.io/develop/api-reference/user/st.login',
  versions: 'Streamlit 1.67',
  algorithms: ['EdDSA', 'RS256'],
  authentication: null,
  claims_in_id_token: true,
  refreshes_in_parallel: false,
  pkce: null,
  sign_out: 'st.logout()',
  signs_out_to_callback: true,
  callback: '/oauth2callback',
  symptoms: [
    { without: 'claims', seen: 'st.user has no name and no email', setting: null },
    { without: 'sign_out', seen: 'the sign-out ends at "You are still signed in"', setting: null },
  ],
  snippets: [
    { file: '.streamlit/secrets.toml', text: secrets },
    { file: 'app.py', text: app },
  ],
};
