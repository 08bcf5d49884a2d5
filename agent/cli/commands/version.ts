/** `nodeagent version` */
import { isObject } from '#api/kit/object.ts';
import { AGENT_VERSION } from '../../version.ts';
import { AgentUnreachableError } from '../client/api-client.ts';
import { textMember } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';

export const command: Command = defineCommand({
  name: 'version',
  summary: 'Shows the versions of this program, the running agent and its runtime.',
  usage: ['[options]'],
  options: { client: { type: 'boolean', help: 'only the version of this program' } },
  examples: [],
  async run(args, context) {
    await context.out.write(`program  ${AGENT_VERSION} (Node ${process.version})\n`);
    if (!args.has('client')) await printAgent(context);
    return 0;
  },
});

async function printAgent({ api, out, signal }: CommandContext): Promise<void> {
  try {
    const response = await api.json({ path: ['version'], signal });
    const facts = isObject(response) ? response : {};
    await out.write(`agent    ${textMember(facts, 'version')}\nruntime  ${textMember(facts, 'runtime')}\n`);
  } catch (thrown) {
    // The command must also work during installation, when no agent is running yet.
    if (!(thrown instanceof AgentUnreachableError)) throw thrown;
    await out.write('agent    not reachable\n');
  }
}
