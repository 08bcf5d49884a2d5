/** One file that the generator writes; `path` is relative to the repository. */
export interface GeneratedFile {
  readonly path: string;
  readonly text: string;
}
