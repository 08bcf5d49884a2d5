/** Client credentials for webhooks: users of a client configuration file, named after the hosts that they are
 *  for. Source: WebhookAdmissionConfiguration, document 2 §2.7 and §9; upstream's resolver, release 1.24. */
import { createHash } from 'node:crypto';
import { dirname, resolve } from 'node:path';
import { createSecureContext } from 'node:tls';
import { ClientConfigError } from '#api/client-config/error.ts';
import type { ClientConfig } from '#api/client-config/model.ts';
import { parseClientConfig } from '#api/client-config/parse.ts';
import { type PemSource, resolveClientConfig, type UserCredentials } from '#api/client-config/resolve.ts';
import type { FollowedFiles, FollowOptions } from '#api/kit/files/follow-files.ts';
import { VOCABULARIES } from '#api/vocabulary.ts';
import { checkKind, type PluginConfig, readPluginConfig } from '../configuration/plugin-config.ts';

export interface HookCredentials {
  /** The same for the same user with the same certificate. */
  readonly id: string;
  readonly cert?: string;
  readonly key?: string;
  /** Value of the header. */
  readonly authorization?: string;
}

export type FindCredentials = (host: string, port: number) => HookCredentials | undefined;

interface CredentialsDeps {
  readonly readFile: (path: string) => Promise<string>;
}

const KINDS = [
  { group: 'apiserver.config', version: 'v1', kind: 'WebhookAdmissionConfiguration' },
  { group: 'apiserver', version: 'v1alpha1', kind: 'WebhookAdmission' },
];
const MEMBERS: readonly string[] = Object.values(VOCABULARIES).map(
  ({ clientConfigFileMember }) => clientConfigFileMember,
);
const HTTPS = 443;
const EVERY_HOST = '*';

/** The file that the settings name. @throws PluginConfigError */
function fileOf(config: PluginConfig): string {
  const file = readPluginConfig(config, ['apiVersion', 'kind', ...MEMBERS], (section) => {
    checkKind(section, KINDS);
    return MEMBERS.map((name) => section.text(name)).find((text) => text !== '') ?? '';
  });
  return file === '' ? '' : resolve(dirname(config.file), file);
}

async function credentialsOf(
  { readFile }: CredentialsDeps,
  id: string,
  { certificate, bearer, basic }: UserCredentials,
): Promise<HookCredentials> {
  const textOf = (source: PemSource): Promise<string> | string =>
    source.kind === 'data' ? source.pem : readFile(source.path);
  const token = bearer?.tokenFile === undefined ? bearer?.token : (await readFile(bearer.tokenFile)).trim();
  const login = basic === undefined ? undefined : `${basic.username}:${basic.password}`;
  const authorization =
    token !== undefined
      ? `Bearer ${token}`
      : login === undefined
        ? undefined
        : `Basic ${Buffer.from(login).toString('base64')}`;
  const pair =
    certificate === undefined
      ? {}
      : { cert: await textOf(certificate.certificate), key: await textOf(certificate.key) };
  createSecureContext(pair);
  // A changed certificate must not use connections of the one before.
  const digest = createHash('sha256').update(JSON.stringify(pair)).digest('base64');
  return {
    id: `${id} ${digest}`,
    ...pair,
    ...(authorization === undefined ? {} : { authorization }),
  };
}

/** A configuration in which the user is the chosen one, whatever contexts the file has. */
function only(config: ClientConfig, user: string): ClientConfig {
  const cluster = { server: 'https://localhost', tlsServerName: '', insecureSkipTlsVerify: false };
  const entry = { ...cluster, authority: {}, proxyUrl: '', extensions: new Map() };
  return {
    ...config,
    clusters: [{ name: 'webhook', path: '', entry }],
    contexts: [{ name: 'webhook', path: '', entry: { cluster: 'webhook', user, namespace: '' } }],
    currentContext: 'webhook',
  };
}

/** `example.org:8443`, `*.org:8443`, and for the usual port the same without it. */
function namesOf(host: string, port: number): readonly string[] {
  const wild = (target: string): readonly string[] => {
    const steps = target.split('.');
    return [target, ...steps.slice(1).map((_, index) => `*.${steps.slice(index + 1).join('.')}`)];
  };
  return [...wild(`${host}:${port}`), ...(port === HTTPS ? wild(host) : []), EVERY_HOST];
}

/** Follows the file of the configuration, and those that it names; without one, no credentials are presented.
 *  @throws PluginConfigError, ClientConfigError, or Error if a file can't be read */
export async function loadHookCredentials(
  config: PluginConfig | undefined,
  follow: (
    options: FollowOptions<FindCredentials>,
  ) => Promise<Pick<FollowedFiles<FindCredentials>, 'current'>>,
): Promise<FindCredentials> {
  const file = config === undefined ? '' : fileOf(config);
  if (file === '') return () => undefined;
  const { current } = await follow({
    what: 'credentials for webhooks',
    paths: [file],
    parse: ([text = ''], readFile) => readHookCredentials(file, text, { readFile }),
  });
  return (host, port) => current()(host, port);
}

async function readHookCredentials(
  file: string,
  text: string,
  deps: CredentialsDeps,
): Promise<FindCredentials> {
  const parsed = parseClientConfig(text, file);
  if (parsed.kind === 'invalid') throw new ClientConfigError(file, parsed.errors);
  const users = new Map<string, HookCredentials>();
  for (const { name } of parsed.config.users) {
    const { credentials } = await resolveClientConfig(only(parsed.config, name), deps);
    users.set(name, await credentialsOf(deps, name, credentials));
  }
  const { contexts, currentContext } = parsed.config;
  const usual = users.get(contexts.find(({ name }) => name === currentContext)?.entry.user ?? '');
  return (host, port) => {
    const found = namesOf(host, port).find((name) => users.has(name));
    return found === undefined ? usual : users.get(found);
  };
}
