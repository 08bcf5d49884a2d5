/** `nodeagent pull` */
import { silentLogger } from '#api/kit/logger.ts';
import { createImages } from '../../images/create-images.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { CommandError, UsageError } from '../errors.ts';
import { ENDPOINT_OPTION, type ImageRuntime, openImageRuntime } from '../images/image-runtime.ts';
import { startProgress } from '../images/progress.ts';
import { printable } from '../views/table.ts';

/** Default root directory of an agent. */
const DEFAULT_ROOT = '/var/lib/nodeagent';

export const command: Command = defineCommand({
  name: 'pull',
  summary: 'Pulls images as the agent does for a pod, with its registry credentials.',
  usage: ['IMAGE… [options]'],
  options: ENDPOINT_OPTION,
  examples: [['pull registry.example.com/web:2', 'before a pod needs it']],
  async run(args, context) {
    if (args.positionals.length === 0) throw new UsageError('pull requires an IMAGE');
    await using runtime = await openImageRuntime(args.text('endpoint'), context);
    for (const image of args.positionals) {
      const imageRef = await pullImage(image, runtime, context);
      await context.out.write(`${printable(image)} pulled: ${printable(imageRef)}\n`);
    }
    return 0;
  },
});

/** @throws CommandError with the reason of the registry */
async function pullImage(
  image: string,
  { connection, setting }: ImageRuntime,
  context: CommandContext,
): Promise<string> {
  const { clock, env, signal } = context;
  const manager = await createImages(
    { images: connection.images, clock, log: silentLogger, env },
    {
      rootDir: setting('rootDir') || DEFAULT_ROOT,
      serializeImagePulls: true,
      registryPullQPS: 0,
      registryBurst: 1,
      imageCredentialProviderConfig: setting('imageCredentialProviderConfig'),
      imageCredentialProviderBinDir: setting('imageCredentialProviderBinDir'),
      credentialProviders: !setting('featureGates').includes('"NodeAgentCredentialProviders":false'),
    },
  );
  await using _ = startProgress(context, `pulling ${image}`);
  const request = { image, pullPolicy: 'Always', pullSecrets: [], podUID: 'command', signal } as const;
  const result = await manager.ensureImage(request);
  if (result.kind === 'present') return result.imageRef;
  throw new CommandError(`cannot pull ${image}: ${result.message}`);
}
