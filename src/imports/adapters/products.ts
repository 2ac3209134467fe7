import type { Adapter } from './adapter.ts';

/** Our own format, as it is in the file. */
const own: Adapter = { paths: [], toUser: (record) => record };

export const products = ['signet'] as const;
export type Product = (typeof products)[number];

export const adapters: Readonly<Record<Product, Adapter>> = { signet: own };
