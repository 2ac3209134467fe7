import { findLibrary, librariesFor, proposedFor, type SignOutTarget } from '../../clients/libraries/catalogue.ts';
import { applicationTypeOf, isOnDevice, type Kind, kinds, type Library } from '../../clients/libraries/library.ts';
import type { Parameters } from '../../platform/http/parameters.ts';
import { alert } from '../../platform/pages/form.ts';
import { html, type Renderable } from '../../platform/pages/html.ts';
import type { Page } from '../../platform/pages/page.ts';
import type { View } from '../../platform/pages/view.ts';
import type { ClientArea } from '../navigation.ts';
import { libraryName } from '../setup/setup.ts';
import { emptyForm } from './form-values.ts';

/** What a client is registered for, and with what. */
type Choice = { kind: Kind; library: Library };

/** @returns undefined until both are chosen: links carry the choice, so that it works without a script. */
export function choiceIn(query: Parameters): Choice | undefined {
  const kind = kinds.find((known) => known === query.kind);
  const library = findLibrary(query.library);
  return kind && library && { kind, library };
}

/** The form as it is best for the choice. All of it can be changed; the defaults of the API stay as specified. */
export function formFor({ kind, library }: Choice): typeof emptyForm {
  const form = {
    ...emptyForm,
    client_type: isOnDevice(kind) ? 'public' : 'confidential',
    application_type: applicationTypeOf(kind),
    ...proposedFor(library),
    // Where it is the same for everyone: on the user's own device.
    redirect_uris: library.callback?.startsWith('http://') ? library.callback : '',
    sign_out: signOutOf(library, kind),
    token_endpoint_auth_method: isOnDevice(kind) ? 'none' : (library.authentication ?? ''),
    library: library.id,
  };
  // It uses the tools of an API, whose scopes are chosen in the form, and is no place for the user's data.
  return kind === 'mcp' ? { ...form, claims_in_id_token: false, allowed_scopes: ['openid', 'offline_access'] } : form;
}

/** What its snippet does, or its own function. */
function signOutOf({ sign_out, signs_out_to_callback }: Library, kind: Kind): SignOutTarget {
  if (kind === 'service' || kind === 'mcp' || sign_out === null) return 'listed';
  return signs_out_to_callback ? 'callback' : 'root';
}

/** The first step of a registration. @param refusal why nothing can be registered now. */
export const choicePage = (view: View, { registerTab, registerPath }: ClientArea, refusal: Renderable): Page => ({
  title: view.plain('developer.register.title'),
  tab: registerTab,
  content: html`<h1>${view.t('developer.register.title')}</h1>
<p class="soft">${view.t('developer.choice.intro')}</p>
${alert(refusal)}
${kinds.map(
  (kind) => html`<h2 id="kind-${kind}">${view.t(`developer.kind.${kind}`)}</h2>
<p>${view.t(`developer.kind.${kind}.what`)}</p>
<p class="actions">${librariesFor(kind).map(
    (library) =>
      html`<a class="button quiet" href="${registerPath}?kind=${kind}&amp;library=${library.id}" aria-describedby="kind-${kind}"><bdi>${libraryName(view, library)}</bdi></a>\n`,
  )}</p>
`,
)}`,
});
