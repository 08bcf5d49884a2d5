/** Creates the credential sources of a client configuration. */

import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { rewriteOidcTokens } from '#api/client-config/rewrite.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import type { Waits } from '#api/kit/waits.ts';
import { NO_RESPONSE } from '#api/kit/waits.ts';
import { replaceText } from '../write-private.ts';
import { type CredentialSource, joinCredentials } from './credentials.ts';
import { createExecCredentials } from './exec-credentials.ts';
import { createFileCredentials } from './file-credentials.ts';
import { createIdpClient } from './idp-client.ts';
import { readSmallFile } from './load.ts';
import { createOidcCredentials } from './oidc-credentials.ts';
import type { RunExecPlugin } from './run-exec-plugin.ts';
import { runExecPlugin } from './run-exec-plugin.ts';

export interface CredentialDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Environment of the agent, which plugins inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether standard input is a terminal. */
  readonly hasTerminal: boolean;
  /** Receives the standard error output of plugins. */
  readonly passOn: (chunk: Uint8Array) => void;
  /** Registers waits for plugins and identity providers. */
  readonly waits?: Pick<Waits, 'during'> | undefined;
  /** Calls the listener when the agent has rewritten credential files; other changes are detected within a
   *  minute. Returns a function that ends the subscription. */
  readonly onRenewed?: (listener: () => void) => () => void;
  /** Called after each request to the API server.
   *  @param code status of the response; `<error>` without one */
  readonly requested?: (method: string, host: string, code: string, durationMs: number) => void;
}

/** Static credentials of the configuration take precedence over those of a plugin or provider. */
export function createCredentials(
  deps: CredentialDeps,
  { credentials, file, userName }: Pick<ResolvedClientConfig, 'credentials' | 'file' | 'userName'>,
): CredentialSource {
  const { clock, log, onRenewed } = deps;
  const waited = <T>(what: string, work: Promise<T>): Promise<T> =>
    deps.waits?.during(what, work, NO_RESPONSE) ?? work;
  const { exec, oidc } = credentials;
  const reading = { clock, log, readFile: readSmallFile, ...(onRenewed === undefined ? {} : { onRenewed }) };
  const sources = [...createFileCredentials(reading, credentials)];
  if (exec !== undefined) {
    const runPlugin: RunExecPlugin = (run, signal) =>
      waited(`credential plugin ${run.command}`, runExecPlugin(run, signal));
    sources.push(createExecCredentials({ ...deps, runPlugin }, exec));
  }
  if (oidc !== undefined) {
    const save = async (tokens: Parameters<typeof rewriteOidcTokens>[2]): Promise<void> => {
      await replaceText(file, (text) => rewriteOidcTokens(text, userName, tokens));
    };
    const requestIdp = createIdpClient(oidc.authority);
    const send: typeof requestIdp = (message, signal) =>
      waited(`identity provider ${oidc.issuerUrl}`, requestIdp(message, signal));
    sources.push(createOidcCredentials({ clock, log, send, save }, oidc));
  }
  return joinCredentials(sources);
}
