import type { Db } from '../platform/db/db.ts';
import type { BrandSource } from '../platform/pages/branding.ts';
import { readBrand } from './change-brand.ts';
import { readPictureFile } from './store.ts';

/** What pages are drawn with, in the store. */
export const brandSource = (db: Db): BrandSource => ({
  read: () => readBrand({ db }),
  async readFile(picture_id) {
    const found = await readPictureFile(db, picture_id);
    return found && Buffer.from(found.content, 'base64');
  },
});
