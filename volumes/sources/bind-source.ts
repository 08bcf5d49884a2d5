/** Selects the plugin that serves a volume and rejects requests that its source cannot fulfil. */
import type { SetUp, SourceFields, SourcePlugin, SourceRequest } from '../contract/source.ts';
import { VolumeSetupError } from '../errors/setup-error.ts';
import { MissingProgramError } from '../programs/errors.ts';
import { findProgram } from '../programs/find-program.ts';

/** Returns the setup of the first plugin that supports one of the fields; undefined if none does.
 *  Unsupported uses are rejected with the plugin's name. */
export function bindFrom(plugins: readonly SourcePlugin[], fields: SourceFields): SetUp | undefined {
  for (const plugin of plugins) {
    const setUp = plugin.bind(fields);
    if (setUp === undefined) continue;
    return async (request) => {
      checkAsked(plugin, request);
      if (request.services.checksPrograms === true) await checkPrograms(plugin);
      return setUp({ ...request, ...request.undoable(plugin.name) });
    };
  }
  return undefined;
}

/** @throws MissingProgramError for the first missing program */
async function checkPrograms({ about }: SourcePlugin): Promise<void> {
  for (const program of about.programs ?? []) {
    if ((await findProgram(program)) === undefined) throw new MissingProgramError(program);
  }
}

function checkAsked({ name, about }: SourcePlugin, request: SourceRequest): void {
  if (request.block && about.block !== true)
    throw new VolumeSetupError(
      `source ${name} can be mounted as a file system only, not used in volumeDevices`,
    );
  // Ignored for a raw device, which is not mounted.
  if (request.mountOptions.length > 0 && about.mountOptions !== true && !request.block) {
    const of = request.persistentVolume?.metadata?.name ?? '';
    throw new VolumeSetupError(
      `PersistentVolume ${of} has mountOptions, which its source ${name} does not support`,
    );
  }
}
