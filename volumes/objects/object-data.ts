/** The content of ConfigMaps and Secrets as bytes by key. Pure. */

import { Buffer } from 'node:buffer';
import type { ConfigMap, Secret } from '#api/gen/core-v1.ts';

const fromBase64 = (text: string): Buffer => Buffer.from(text, 'base64');
const fromText = (text: string): Buffer => Buffer.from(text, 'utf8');

function entries(
  record: Readonly<Record<string, string>> | undefined,
  decode: (text: string) => Buffer,
): [string, Buffer][] {
  return Object.entries(record ?? {}).map(([key, text]) => [key, decode(text)]);
}

/** Returns every key of a ConfigMap with its bytes. Pure. */
export function configMapData(object: ConfigMap): ReadonlyMap<string, Buffer> {
  return new Map([...entries(object.data, fromText), ...entries(object.binaryData, fromBase64)]);
}

/** Returns every key of a Secret with its bytes; `stringData` of a manifest overrides `data`. Pure. */
export function secretData(object: Secret): ReadonlyMap<string, Buffer> {
  return new Map([...entries(object.data, fromBase64), ...entries(object.stringData, fromText)]);
}
