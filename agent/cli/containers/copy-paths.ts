/** Parses the operands of `cp`. Pure. */
import { UsageError } from '../errors.ts';

export type CopyPlace =
  | { readonly kind: 'local'; readonly path: string }
  | { readonly kind: 'pod'; readonly pod: string; readonly path: string };

/** Parses `web:/etc/x`, `shop/web:/etc/x` or a local path; `./a:b` is local. @throws UsageError */
export function parsePlace(text: string): CopyPlace {
  const colon = text.indexOf(':');
  if (colon <= 0 || /^[./]/.test(text)) return { kind: 'local', path: text };
  const [pod, path] = [text.slice(0, colon), text.slice(colon + 1)];
  if (path === '') throw new UsageError(`${JSON.stringify(text)} has no path: use POD:PATH`);
  return { kind: 'pod', pod, path };
}

export interface SplitPath {
  readonly parent: string;
  /** `.` for a root directory. */
  readonly name: string;
}

/** Splits a path in a container at its last component. */
export function splitPath(path: string): SplitPath {
  const parts = path.split('/').filter((part) => part !== '' && part !== '.');
  const name = parts.at(-1);
  const isAbsolute = path.startsWith('/');
  if (name === undefined || name === '..') {
    return {
      parent: parts.length === 0 ? (isAbsolute ? '/' : '.') : `${isAbsolute ? '/' : ''}${parts.join('/')}`,
      name: '.',
    };
  }
  const parent = parts.slice(0, -1).join('/');
  return { parent: isAbsolute ? `/${parent}` : parent === '' ? '.' : parent, name };
}
