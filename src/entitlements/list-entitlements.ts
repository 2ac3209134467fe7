/** What a person has subscribed to (specification §2.9). Times are Unix seconds. */
export type Entitlement = {
  product: string;
  plan: string;
  status: 'active' | 'past_due' | 'canceled' | 'expired';
  current_period_end: number | null;
  source: string;
};

/** Nothing can write entitlements yet, so nobody has any. */
export const listEntitlements = async (_user_id: string): Promise<readonly Entitlement[]> => [];
