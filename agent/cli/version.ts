/** `nodeagent version` */
import { AGENT_VERSION } from '../version.ts';
import { isPlainObject, textMember } from './answers.ts';
import { AgentUnreachableError } from './api-client.ts';
import { type Command, type CommandContext, defineCommand } from './command.ts';

export const command: Command = defineCommand({
  name: 'version',
  summary: 'Shows the versions of this program, of the agent that runs, and of its runtime.',
  usage: ['[options]'],
  options: { client: { type: 'boolean', help: 'only of this program' } },
  examples: [],
  async run(args, context) {
    await context.out.write(`program  ${AGENT_VERSION} (Node ${process.version})\n`);
    if (!args.has('client')) await printAgent(context);
    return 0;
  },
});

async function printAgent({ api, out, signal }: CommandContext): Promise<void> {
  try {
    const answer = await api.json({ path: ['version'], signal });
    const facts = isPlainObject(answer) ? answer : {};
    await out.write(`agent    ${textMember(facts, 'version')}\nruntime  ${textMember(facts, 'runtime')}\n`);
  } catch (thrown) {
    // The question is also one of how to install, when no agent runs yet.
    if (!(thrown instanceof AgentUnreachableError)) throw thrown;
    await out.write('agent    not reached\n');
  }
}
