import type { MessageKey } from '../../platform/i18n/translate.ts';

/** What a setting is about, in a few words; docs/configuration.md says more. @param name of one of ours, or of a provider's. */
export function settingText(name: string): MessageKey {
  const [, member] = /^SIGNET_(?:GOOGLE|PROVIDER_\w+?)_(ISSUER|CLIENT_ID|CLIENT_SECRET|LABEL)$/.exec(name) ?? [];
  return `admin.setting.${member === undefined ? name : `provider.${member.toLowerCase()}`}` as MessageKey;
}
