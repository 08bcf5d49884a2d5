/** The source of credentials that a configuration asks for. */
import type { ResolvedClientConfig } from '#api/client-config/resolve.ts';
import { rewriteOidcTokens } from '#api/client-config/rewrite.ts';
import type { Clock } from '#api/kit/clock.ts';
import type { Logger } from '#api/kit/logger.ts';
import { createAskIdp } from './ask-idp.ts';
import { type CredentialSource, joinCredentials } from './credentials.ts';
import { createExecCredentials } from './exec-credentials.ts';
import { createFileCredentials } from './file-credentials.ts';
import { readSmallFile } from './load.ts';
import { createOidcCredentials } from './oidc-credentials.ts';
import { runExecPlugin } from './run-exec-plugin.ts';
import { replaceText } from './write-private.ts';

export interface CredentialDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Our own environment, which plugins inherit. */
  readonly env: Readonly<Record<string, string>>;
  /** Whether standard input is a terminal. */
  readonly hasTerminal: boolean;
  /** Is given what plugins write to standard error. */
  readonly passOn: (chunk: Uint8Array) => void;
  /** Calls the listener when files of credentials have been rewritten; others' rewrites are found within a minute.
   *  Returns the function that ends this. */
  readonly onRenewed?: (listener: () => void) => () => void;
}

/** What stands in the configuration goes before what a plugin or a provider gives. */
export function createCredentials(
  deps: CredentialDeps,
  { credentials, file, userName }: Pick<ResolvedClientConfig, 'credentials' | 'file' | 'userName'>,
): CredentialSource {
  const { clock, log, onRenewed } = deps;
  const { exec, oidc } = credentials;
  const reading = { clock, log, readFile: readSmallFile, ...(onRenewed === undefined ? {} : { onRenewed }) };
  const sources = [...createFileCredentials(reading, credentials)];
  if (exec !== undefined) sources.push(createExecCredentials({ ...deps, runPlugin: runExecPlugin }, exec));
  if (oidc !== undefined) {
    const save = async (tokens: Parameters<typeof rewriteOidcTokens>[2]): Promise<void> => {
      await replaceText(file, (text) => rewriteOidcTokens(text, userName, tokens));
    };
    sources.push(createOidcCredentials({ clock, log, ask: createAskIdp(oidc.authority), save }, oidc));
  }
  return joinCredentials(sources);
}
