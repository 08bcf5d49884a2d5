/** Pod attributes passed to a driver. Source: upstream's CSI plugin (`podInfo`, service account tokens),
 *  release 1.24. */

import { Buffer } from 'node:buffer';
import type { Pod } from '#api/gen/core-v1.ts';
import type { CSIDriver } from '#api/gen/storage-v1.ts';
import { secondsInMs } from '#api/kit/int64.ts';
import type { AccountTokenOf } from '../contract/volume-manager.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';

type Attributes = Readonly<Record<string, string>>;

/** Lifetime of tokens if the driver does not request one. */
const TOKEN_SECONDS = 3600;

/** Returns the attributes for a driver that requests pod information. Pure. */
export function podAttributes(
  { metadata, spec }: Pod,
  kind: 'persistent' | 'ephemeral',
  apiGroupDomain: string,
): Attributes {
  const prefix = `csi.storage.${apiGroupDomain}`;
  return {
    [`${prefix}/pod.name`]: metadata?.name ?? '',
    [`${prefix}/pod.namespace`]: metadata?.namespace ?? '',
    [`${prefix}/pod.uid`]: metadata?.uid ?? '',
    [`${prefix}/serviceAccount.name`]: spec?.serviceAccountName ?? '',
    [`${prefix}/ephemeral`]: String(kind === 'ephemeral'),
  };
}

/** Returns the expiry claim of a token, in ms of wall time; undefined if it has none. The token is passed
 *  on, not verified. */
function endOf(token: string): number | undefined {
  try {
    const claims: unknown = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8'));
    const end = typeof claims === 'object' && claims !== null && 'exp' in claims ? claims.exp : undefined;
    return typeof end === 'number' && Number.isSafeInteger(end) ? end * 1000 : undefined;
  } catch {
    return undefined;
  }
}

const timeText = (ms: number): string => new Date(ms).toISOString().replace(/\.\d{3}Z$/, 'Z');

/** Returns tokens of the pod's service account for a driver that requests them.
 *  @throws VolumeSetupError if this agent cannot issue tokens */
export async function tokenAttributes(
  pod: Pod,
  object: CSIDriver | undefined,
  {
    accountToken,
    apiGroupDomain,
    nowMs,
  }: {
    readonly accountToken: AccountTokenOf | undefined;
    readonly apiGroupDomain: string;
    readonly nowMs: number;
  },
): Promise<Attributes> {
  const { tokenRequests = [] } = object?.spec ?? {};
  if (tokenRequests.length === 0) return {};
  if (accountToken === undefined) {
    throw new VolumeSetupError(
      `CSI driver ${object?.metadata?.name} requires service account tokens, which this agent cannot issue without an API server`,
    );
  }
  const tokens = await Promise.all(
    tokenRequests.map(async ({ audience, expirationSeconds = TOKEN_SECONDS }) => {
      const token = await accountToken(pod, { audience, expirationSeconds });
      const expiration = endOf(token) ?? nowMs + secondsInMs(expirationSeconds);
      return [audience, { token, expirationTimestamp: timeText(expiration) }] as const;
    }),
  );
  return {
    [`csi.storage.${apiGroupDomain}/serviceAccount.tokens`]: JSON.stringify(Object.fromEntries(tokens)),
  };
}
