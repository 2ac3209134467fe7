import { type ProofDeps, type Proven, verifyProof } from './proof.ts';

/** A request as it arrives. */
type Arrived = { readonly method: string; readonly url: string };

export const provenBy = ({ method, url }: Arrived, proof: string, accessToken?: string): Proven => ({
  proof,
  method,
  path: url.split('?', 1)[0] ?? '',
  accessToken,
});

/** The key of the proof in the header `DPoP`, if there is one. @throws {RequestError} as {@link verifyProof}. */
export const findProofKey = async (
  deps: ProofDeps,
  request: Arrived & { readonly headers: Readonly<Record<string, string | string[] | undefined>> },
  accessToken?: string,
): Promise<string | undefined> => {
  const { dpop } = request.headers;
  return dpop === undefined ? undefined : verifyProof(deps, provenBy(request, String(dpop), accessToken));
};
