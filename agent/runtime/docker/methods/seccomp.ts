/** Reads seccomp profiles: docker takes their content, not their path. */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { CallRejection } from '#cri/server/rejection.ts';
import type { SecurityOptions } from '../config/security.ts';

const LARGEST_PROFILE = 4 * 1024 * 1024;

async function readJson(path: string): Promise<string> {
  if (!path.startsWith('/'))
    throw new CallRejection('InvalidArgument', `seccomp profile ${path}: not an absolute path`);
  await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((thrown: unknown) => {
    throw new CallRejection('InvalidArgument', `seccomp profile ${path}: cannot be opened`, thrown);
  });
  const { size } = await file.stat();
  if (size > LARGEST_PROFILE) {
    throw new CallRejection(
      'InvalidArgument',
      `seccomp profile ${path}: larger than ${LARGEST_PROFILE} bytes`,
    );
  }
  const text = await file.readFile('utf8');
  try {
    return JSON.stringify(JSON.parse(text));
  } catch {
    throw new CallRejection('InvalidArgument', `seccomp profile ${path}: not JSON`);
  }
}

/** Adds the content of the profile to the options. @throws CallRejection */
export async function readProfile({ options, seccompFile }: SecurityOptions): Promise<{
  readonly options: readonly string[];
}> {
  if (seccompFile === undefined) return { options };
  return { options: [...options, `seccomp=${await readJson(seccompFile)}`] };
}
