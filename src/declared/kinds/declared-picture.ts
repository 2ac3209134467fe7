/** Compared, and shown in a plan, by what it is, and not as its bytes. */
export class DeclaredPicture<File> {
  readonly #id: string;
  readonly file: File;
  constructor(id: string, file: File) {
    this.#id = id;
    this.file = file;
  }
  toJSON(): string {
    return this.#id;
  }
}
