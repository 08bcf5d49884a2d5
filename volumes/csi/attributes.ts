/** What a driver is told of the pod that gets a volume. Source: upstream's CSI plugin (`podInfo`, service account
 *  tokens), release 1.24. */
import { Buffer } from 'node:buffer';
import type { Pod } from '#api/schema/gen/core-v1.ts';
import type { CSIDriver } from '#api/schema/gen/storage-v1.ts';
import { VolumeSetupError } from '../setup-error.ts';
import type { AccountTokenOf } from '../types.ts';

type Attributes = Readonly<Record<string, string>>;

/** Lifetime of tokens that a driver asks for without one. */
const TOKEN_SECONDS = 3600;

/** Attributes of a driver that asks for the pod's. Pure. */
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

/** When a token ends by its own word, in ms of wall time; undefined where it says nothing. It is ours to pass on, not
 *  to believe. */
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

/** Tokens of the pod's service account for a driver that asks for some.
 *  @throws VolumeSetupError where nobody issues any */
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
      `CSI driver ${object?.metadata?.name} wants tokens of the pod's service account, which nobody issues here`,
    );
  }
  const tokens = await Promise.all(
    tokenRequests.map(async ({ audience, expirationSeconds = TOKEN_SECONDS }) => {
      const token = await accountToken(pod, { audience, expirationSeconds });
      const expiration = endOf(token) ?? nowMs + expirationSeconds * 1000;
      return [audience, { token, expirationTimestamp: timeText(expiration) }] as const;
    }),
  );
  return {
    [`csi.storage.${apiGroupDomain}/serviceAccount.tokens`]: JSON.stringify(Object.fromEntries(tokens)),
  };
}
