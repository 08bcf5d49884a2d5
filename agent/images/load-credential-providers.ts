/** Loads the credential plugin configuration from its file and checks that the programs exist. */

import { constants } from 'node:fs';
import { access, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { codeOrName } from '#api/kit/errno.ts';
import type { FieldError } from '#api/meta/field-error.ts';
import {
  type CredentialProviderConfigResult,
  type CredentialProviderSpec,
  decodeCredentialProviderConfig,
} from './credential-provider-config.ts';

export interface CredentialProviderPaths {
  /** `--image-credential-provider-config` */
  readonly configPath: string;
  /** `--image-credential-provider-bin-dir` */
  readonly binDir: string;
}

function invalid(errors: readonly FieldError[]): CredentialProviderConfigResult {
  return { kind: 'invalid', errors };
}

function problem(field: string, detail: string, badValue: string): FieldError {
  return { kind: 'FieldValueInvalid', field, detail, badValue };
}

async function checkProgram(path: string, field: string): Promise<readonly FieldError[]> {
  try {
    await access(path, constants.X_OK);
    if ((await stat(path)).isFile()) return [];
    return [problem(field, 'must be a program', path)];
  } catch (thrown) {
    return [problem(field, `must be an executable program (${codeOrName(thrown)})`, path)];
  }
}

async function checkPrograms(
  binDir: string,
  providers: readonly CredentialProviderSpec[],
): Promise<readonly FieldError[]> {
  const isDirectory = await stat(binDir).then(
    (found) => found.isDirectory(),
    () => false,
  );
  if (!isDirectory)
    return [problem('imageCredentialProviderBinDir', 'must be an existing directory', binDir)];
  const checks = providers.map(({ name }, index) =>
    checkProgram(join(binDir, name), `providers[${index}].name`),
  );
  return (await Promise.all(checks)).flat();
}

/** Parses YAML or JSON; returns all errors of the file and the programs at once. Never throws. */
export async function loadCredentialProviderConfig(
  paths: CredentialProviderPaths,
): Promise<CredentialProviderConfigResult> {
  let text: string;
  try {
    text = await readFile(paths.configPath, 'utf8');
  } catch (thrown) {
    const detail = `cannot be read (${codeOrName(thrown)})`;
    return invalid([problem('imageCredentialProviderConfig', detail, paths.configPath)]);
  }
  // Loaded lazily: only nodes with plugins need the parser.
  const { parseDocuments } = await import('#api/codec/documents.ts');
  const documents = parseDocuments(text);
  const [document, ...others] = documents;
  const errors = documents.flatMap((one) => one.errors);
  if (errors.length > 0) return invalid(errors);
  if (document === undefined || others.length > 0) {
    return invalid([problem('imageCredentialProviderConfig', 'must hold one document', paths.configPath)]);
  }
  const result = decodeCredentialProviderConfig(document.value);
  if (result.kind === 'invalid') return result;
  const missing = await checkPrograms(paths.binDir, result.providers);
  return missing.length > 0 ? invalid(missing) : result;
}
