/** Collects the credentials for one pull: Secrets of the pod, then plugins, then files of the host.
 *  Reads the files at each pull, so that rotated credentials take effect at once. */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import type { Secret } from '#api/gen/core-v1.ts';
import { asError } from '#api/kit/errno.ts';
import type { Logger } from '#api/kit/logger.ts';
import { type CredentialTable, type RegistryCredential, selectCredentials } from './credentials.ts';
import { type DockerConfigFormat, parseDockerConfig, parseSecretCredentials } from './docker-config.ts';

export interface CredentialRequest {
  /** Normalised name without tag, such as `docker.io/library/busybox`. */
  readonly repository: string;
  readonly pullSecrets: readonly Secret[];
  readonly signal: AbortSignal;
}

export interface Keyring {
  /** Returns the logins to try, in order; empty for an anonymous pull.
   *  @throws {CredentialFormatError} for a registry Secret with malformed content */
  lookup(request: CredentialRequest): Promise<readonly RegistryCredential[]>;
}

/** Source of credentials for an image. Handles its own failures by returning nothing. */
export type CredentialProvider = (repository: string, signal: AbortSignal) => Promise<CredentialTable>;

export interface KeyringDeps {
  readonly log: Logger;
  readonly providers: readonly CredentialProvider[];
}

export interface KeyringOptions {
  /** Directories searched for `config.json`, then for `.dockercfg`; the first readable file is used. */
  readonly configDirs: readonly string[];
}

/** Maximum size of a credential file. */
const LARGEST_FILE_BYTES = 1024 * 1024;
const FILES: readonly { readonly name: string; readonly format: DockerConfigFormat }[] = [
  { name: 'config.json', format: 'json' },
  { name: '.dockercfg', format: 'legacy' },
];

/** Returns the searched directories, as upstream: root directory, state directory, home of the user,
 *  `/.docker`. */
export function hostConfigDirs(rootDir: string, home: string | undefined): readonly string[] {
  const homeDir = home === undefined || home === '' ? [] : [join(home, '.docker')];
  return [...new Set([rootDir, '/var/lib/nodeagent', ...homeDir, '/.docker'])];
}

async function readSmallFile(path: string): Promise<string | undefined> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open(path, 'r');
  } catch {
    return undefined; // absent or not readable: try the next directory
  }
  try {
    const stat = await file.stat();
    return stat.isFile() && stat.size <= LARGEST_FILE_BYTES ? await file.readFile('utf8') : undefined;
  } finally {
    await file.close();
  }
}

export function createKeyring(deps: KeyringDeps, options: KeyringOptions): Keyring {
  const { log, providers } = deps;

  async function readHostTable(): Promise<CredentialTable> {
    for (const { name, format } of FILES) {
      for (const dir of options.configDirs) {
        const path = join(dir, name);
        const text = await readSmallFile(path);
        if (text === undefined) continue;
        try {
          return parseDockerConfig(text, format, path);
        } catch (thrown) {
          log.warn({ err: asError(thrown), path }, 'Registry credential file skipped');
        }
      }
    }
    return [];
  }

  return {
    async lookup({ repository, pullSecrets, signal }) {
      const fromSecrets = pullSecrets.flatMap((secret) => parseSecretCredentials(secret) ?? []);
      const fromPlugins = await Promise.all(providers.map((provide) => provide(repository, signal)));
      const tables = [fromSecrets, ...fromPlugins, await readHostTable()];
      return unique(tables.flatMap((table) => selectCredentials(table, repository)));
    },
  };
}

function unique(credentials: readonly RegistryCredential[]): readonly RegistryCredential[] {
  const byContent = new Map(credentials.map((credential) => [JSON.stringify(credential), credential]));
  return [...byContent.values()];
}
