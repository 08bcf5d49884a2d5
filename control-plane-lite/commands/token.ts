/** `control-plane-lite token create|list|delete`: bootstrap tokens, which nodes join with. Source: bootstrap
 *  tokens, document 2 §5.9. */
import { createHash, randomInt, X509Certificate } from 'node:crypto';
import { type Clock, sleep } from '#api/kit/clock.ts';
import { formatTime } from '#api/meta/time.ts';
import { parsePem } from '#api/pki/pem.ts';
import type { Vocabulary } from '#api/vocabulary.ts';
import {
  BOOTSTRAP_SECRET_PREFIX,
  BOOTSTRAP_TOKEN,
  type BootstrapToken,
  isExtraGroup,
  readBootstrapSecret,
} from '../authn/bootstrap-secret.ts';
import { JOINING_GROUP } from '../authz/join-policy.ts';
import type { ApiObject } from '../resources/contract.ts';
import type { Members } from '../resources/view.ts';
import { type AdminClient, CommandError, memberAt, textAt } from './admin-client.ts';
import { formatTable } from './table.ts';

export interface NewToken {
  /** Empty: a token is generated. */
  readonly token: string;
  /** 0: no expiry. */
  readonly ttlMs: number;
  readonly description: string;
  /** In addition to that of joining nodes. */
  readonly groups: readonly string[];
}

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz0123456789';

const randomText = (length: number): string =>
  Array.from({ length }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');

const secretsPath = ({ systemNamespace }: Vocabulary): string =>
  `/api/v1/namespaces/${systemNamespace}/secrets`;

/** Returns the hash of a CA's key: `sha256:` and the digest of its DER form. @throws Error if the PEM is
 *  invalid */
export function authorityHash(pem: string): string {
  const der = new X509Certificate(pem).publicKey.export({ type: 'spki', format: 'der' });
  return `sha256:${createHash('sha256').update(der).digest('hex')}`;
}

/** Returns the Secret of a token. */
export function tokenSecret(
  { token, ttlMs, description, groups }: NewToken,
  vocabulary: Vocabulary,
  nowMs: number,
): object {
  const [id = '', secret = ''] = token.split('.');
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: `${BOOTSTRAP_SECRET_PREFIX}${id}`, namespace: vocabulary.systemNamespace },
    type: vocabulary.secretTypeBootstrapToken,
    stringData: {
      'token-id': id,
      'token-secret': secret,
      'usage-bootstrap-authentication': 'true',
      'usage-bootstrap-signing': 'true',
      'auth-extra-groups': [JOINING_GROUP, ...groups].join(','),
      ...(description === '' ? {} : { description }),
      ...(ttlMs === 0 ? {} : { expiration: formatTime(nowMs + ttlMs) }),
    },
  };
}

/** A server with bootstrap tokens enabled publishes cluster-info a moment after it starts to serve. */
const CLUSTER_INFO_MS = 5000;
const LOOK_EVERY_MS = 100;

/** Returns the ConfigMap cluster-info. @throws CommandError if the cluster does not publish it */
async function readClusterInfo(client: AdminClient, clock: Clock): Promise<Members> {
  const path = `/api/v1/namespaces/${client.vocabulary.publicNamespace}/configmaps/cluster-info`;
  const deadline = clock.monotonic() + CLUSTER_INFO_MS;
  for (;;) {
    const info = await client.call('GET', path);
    if (info !== undefined) return info;
    if (clock.monotonic() >= deadline) {
      throw new CommandError(
        'bootstrap tokens are disabled; start the server with --enable-bootstrap-token-auth',
      );
    }
    await sleep(clock, LOOK_EVERY_MS);
  }
}

/** Returns the command line by which a node joins. @throws CommandError */
export async function createToken(client: AdminClient, wanted: NewToken, clock: Clock): Promise<string> {
  const { vocabulary } = client;
  const token = wanted.token === '' ? `${randomText(6)}.${randomText(16)}` : wanted.token;
  if (!BOOTSTRAP_TOKEN.test(token)) {
    throw new CommandError(
      'invalid token: use six characters, a dot and sixteen characters, all of a-z and 0-9',
    );
  }
  const bad = wanted.groups.find((group) => !isExtraGroup(group));
  if (bad !== undefined) {
    throw new CommandError(`--groups: ${JSON.stringify(bad)} does not begin with system:bootstrappers:`);
  }
  const info = await readClusterInfo(client, clock);
  const cluster = clusterOf(textAt(info, 'data', 'kubeconfig'));
  await client.call(
    'POST',
    secretsPath(vocabulary),
    tokenSecret({ ...wanted, token }, vocabulary, clock.now()),
  );
  // `join` detects the vocabulary by itself; older versions do not.
  const words = vocabulary.name === 'plat' ? '' : ` --vocabulary ${vocabulary.name}`;
  return `nodeagent join ${cluster.url}${words} --token ${token} ${cluster.hashes.map((hash) => `--ca-cert-hash ${hash}`).join(' ')}`;
}

function clusterOf(content: string): {
  readonly url: string;
  /** Of each authority; two while one replaces the other. */
  readonly hashes: readonly string[];
} {
  try {
    const cluster = memberAt(JSON.parse(content), 'clusters', 0, 'cluster');
    const authority = Buffer.from(textAt(cluster, 'certificate-authority-data'), 'base64').toString();
    return {
      url: textAt(cluster, 'server'),
      hashes: parsePem(authority).map(({ text }) => authorityHash(text)),
    };
  } catch (cause) {
    throw new CommandError('the ConfigMap cluster-info is not in the format that the server writes', {
      cause,
    });
  }
}

/** Returns the tokens as a table, without their secrets. */
export async function listTokens(client: AdminClient): Promise<string> {
  const { vocabulary } = client;
  const path = `${secretsPath(vocabulary)}?fieldSelector=type=${vocabulary.secretTypeBootstrapToken}`;
  const items = memberAt(await client.call('GET', path), 'items');
  const tokens = (Array.isArray(items) ? (items as readonly ApiObject[]) : []).flatMap(
    (item) => readBootstrapSecret(item, vocabulary) ?? [],
  );
  return formatTable([['ID', 'EXPIRES', 'USAGES', 'DESCRIPTION', 'EXTRA GROUPS'], ...tokens.map(row)]);
}

function row({
  id,
  expiresMs,
  authentication,
  signing,
  description,
  extraGroups,
}: BootstrapToken): readonly string[] {
  const usages = [...(authentication ? ['authentication'] : []), ...(signing ? ['signing'] : [])];
  const expires = Number.isFinite(expiresMs)
    ? formatTime(expiresMs)
    : expiresMs > 0
      ? '<never>'
      : '<invalid>';
  return [id, expires, usages.join(','), description, extraGroups.join(',')];
}

/** `idOrToken`: its six-character ID, or the whole token. @throws CommandError */
export async function deleteToken(client: AdminClient, idOrToken: string): Promise<string> {
  const [id = ''] = idOrToken.split('.');
  if (!/^[a-z0-9]{6}$/.test(id)) throw new CommandError(`${JSON.stringify(id)} is not a token ID`);
  await client.call('DELETE', `${secretsPath(client.vocabulary)}/${BOOTSTRAP_SECRET_PREFIX}${id}`);
  return `token ${id} deleted`;
}
