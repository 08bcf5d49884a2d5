/** Bootstrap token Secrets. Pure. Source: bootstrap tokens, document 2 §5.9. */

import type { Secret } from '#api/gen/core-v1.ts';
import { parseTime, TimeError } from '#api/meta/time.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import type { ApiObject } from '../resources/contract.ts';
import { typed } from '../resources/view.ts';

export const BOOTSTRAP_SECRET_PREFIX = 'bootstrap-token-';

/** Group of all users with a bootstrap token, and with a colon the prefix of further groups. */
export const BOOTSTRAPPERS_GROUP = 'system:bootstrappers';

/** Bootstrap token: public ID, dot, secret. */
export const BOOTSTRAP_TOKEN: RegExp = /^([a-z0-9]{6})\.([a-z0-9]{16})$/;

const EXTRA_GROUP = /^system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]$/;

export interface BootstrapToken {
  readonly id: string;
  readonly secret: string;
  readonly description: string;
  /** In ms since the epoch; infinite: never, or long ago where the time can't be read. */
  readonly expiresMs: number;
  readonly authentication: boolean;
  readonly signing: boolean;
  /** As they are written, good or not. */
  readonly extraGroups: readonly string[];
}

export const isExtraGroup = (group: string): boolean => EXTRA_GROUP.test(group);

/** Key of the Secret of a token in the cache. */
export const bootstrapSecretKey = (id: string, { systemNamespace }: Vocabulary): string =>
  `${systemNamespace}/${BOOTSTRAP_SECRET_PREFIX}${id}`;

function expiryOf(text: string): number {
  if (text === '') return Number.POSITIVE_INFINITY;
  try {
    return parseTime(text);
  } catch (error) {
    if (!(error instanceof TimeError)) throw error;
    // A token with an unparsable expiry counts as expired.
    return Number.NEGATIVE_INFINITY;
  }
}

/** Returns the token of a Secret; `undefined` if it has no valid one. */
export function readBootstrapSecret(object: ApiObject, vocabulary: Vocabulary): BootstrapToken | undefined {
  const { metadata, type, data = {} } = typed<Secret>(object);
  const text = (key: string): string =>
    Object.hasOwn(data, key) ? Buffer.from(data[key] ?? '', 'base64').toString() : '';
  const [id, secret] = [text('token-id'), text('token-secret')];
  if (metadata?.namespace !== vocabulary.systemNamespace) return undefined;
  if (type !== vocabulary.secretTypeBootstrapToken) return undefined;
  if (metadata.name !== `${BOOTSTRAP_SECRET_PREFIX}${id}` || !BOOTSTRAP_TOKEN.test(`${id}.${secret}`)) {
    return undefined;
  }
  return {
    id,
    secret,
    description: text('description'),
    expiresMs: expiryOf(text('expiration')),
    authentication: text('usage-bootstrap-authentication') === 'true',
    signing: text('usage-bootstrap-signing') === 'true',
    extraGroups: text('auth-extra-groups')
      .split(',')
      .filter((group) => group !== ''),
  };
}
