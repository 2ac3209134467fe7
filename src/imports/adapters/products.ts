import type { Adapter } from './adapter.ts';
import { auth0 } from './auth0.ts';
import { clerk } from './clerk.ts';
import { cognito } from './cognito.ts';
import { csv } from './csv.ts';
import { firebase } from './firebase.ts';
import { keycloak } from './keycloak.ts';
import { kratos } from './kratos.ts';
import { logto } from './logto.ts';
import { supabase } from './supabase.ts';
import { zitadel } from './zitadel.ts';

/** Our own format, as it is in the file. */
const signet: Adapter = { paths: [], toUser: (record) => record };

export const adapters = {
  signet,
  auth0,
  clerk,
  cognito,
  csv,
  firebase,
  keycloak,
  kratos,
  logto,
  supabase,
  zitadel,
} as const satisfies Readonly<Record<string, Adapter>>;

export type Product = keyof typeof adapters;
export const products = Object.keys(adapters) as readonly Product[];
