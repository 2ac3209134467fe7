export type Role = 'user' | 'admin';

/** A person's account, as every capability may see it. Times are Unix seconds. */
export type User = {
  user_id: string;
  email: string;
  email_verified_at: number | null;
  name: string | null;
  picture: string | null;
  role: Role;
  locale: string | null;
  disabled_at: number | null;
  created_at: number;
  updated_at: number;
};
