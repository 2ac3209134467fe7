import type { Config } from '../platform/config.ts';
import { fieldProblem, invalidFields, takenField } from '../platform/errors.ts';
import type { MessageDescriptor } from '../platform/i18n/translate.ts';

// The statements by which other rooms take, reserve and give up handles.

/** Names that a reader takes for the service or for those who run it. */
const reserved: ReadonlySet<string> = new Set(
  `abuse account accounts admin administration administrator anonymous api auth billing contact everyone guest help
  helpdesk hostmaster info login mail me moderator noreply null oauth official openid operator owner postmaster
  privacy root sales security service signin signet signup staff support sysadmin system team test undefined unknown user
  username users verify webmaster www`.split(/\s+/),
);

/** Dots and the like do not make a reserved word another one: "ad.min". */
const letters = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');

/** As it may be typed, for API descriptions. */
export const handlePattern = '^[A-Za-z0-9][A-Za-z0-9._-]{1,28}[A-Za-z0-9]$';

/** As it is stored. */
export const normalizeHandle = (typed: string): string => typed.toLowerCase();

/** @param service its name, which no user may bear either. */
export function handleProblem(typed: string, service: string): MessageDescriptor | undefined {
  if (!/^[a-z0-9][a-z0-9._-]{1,28}[a-z0-9]$/.test(normalizeHandle(typed)))
    return { key: 'problem.profile.preferred_username' };
  const isReserved = reserved.has(letters(typed)) || letters(typed) === letters(service);
  return isReserved ? { key: 'problem.profile.preferred_username.reserved' } : undefined;
}

/** @returns it as it is stored. @throws {RequestError} `invalid_request`. */
export function readHandle({ brand }: Pick<Config, 'brand'>, typed: string): string {
  const problem = handleProblem(typed, brand.name);
  if (problem) throw invalidFields([fieldProblem('preferred_username', problem)]);
  return normalizeHandle(typed);
}

/** Another user has it, or had it until recently, or it is reserved for an invited person. */
export const takenHandle = () => takenField('preferred_username', { key: 'problem.profile.preferred_username.taken' });
