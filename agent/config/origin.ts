/** Origin of the effective value of a setting. */

export type Origin =
  | {
      readonly kind: 'default';
      /** Source of a default that is not from the table. */
      readonly note?: string;
    }
  | { readonly kind: 'file'; readonly file: string; readonly path: string }
  | {
      readonly kind: 'flag';
      readonly flag: string;
      /** The file, where it provides a part of the value too. */
      readonly withFile?: string;
    };

/** The origin of each setting by its key. */
export type Origins = ReadonlyMap<string, Origin>;

/** `default`, `/etc/agent.yaml:maxPods` or `--max-pods`. */
export function formatOrigin(origin: Origin): string {
  switch (origin.kind) {
    case 'default':
      return origin.note === undefined ? 'default' : `default (${origin.note})`;
    case 'file':
      return `${origin.file}:${origin.path}`;
    case 'flag':
      return origin.withFile === undefined ? origin.flag : `${origin.flag} and ${origin.withFile}`;
    default:
      return origin satisfies never;
  }
}
