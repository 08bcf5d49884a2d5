/** `nodeagent version` */
import { isObject } from '#api/kit/object.ts';
import { AGENT_VERSION } from '../../version.ts';
import { AgentUnreachableError } from '../client/api-client.ts';
import { textMember } from '../client/responses.ts';
import { type Command, type CommandContext, defineCommand } from '../command.ts';
import { DATA_HELP, parseDataFormat } from '../output/output-format.ts';
import { printData } from '../output/print.ts';

export const command: Command = defineCommand({
  name: 'version',
  summary: 'Shows the versions of this program, the running agent and its runtime.',
  usage: ['[options]'],
  options: {
    client: { type: 'boolean', help: 'only the version of this program' },
    output: { type: 'string', short: 'o', value: 'FORMAT', help: DATA_HELP },
  },
  examples: [
    ['version', 'program, agent and runtime'],
    [`version -o jsonpath='{.agent.version}'`, 'the version of the running agent'],
  ],
  async run(args, context) {
    const format = parseDataFormat(args.text('output'));
    const agent = args.has('client') ? undefined : await fetchAgent(context);
    const program = { version: AGENT_VERSION, node: process.version };
    if (format !== undefined) {
      await printData(context.out, format, { program, ...(agent === undefined ? {} : { agent }) });
      return 0;
    }
    await context.out.write(`program  ${program.version} (Node ${program.node})\n`);
    if (agent !== undefined) await context.out.write(agentLines(agent));
    return 0;
  },
});

interface AgentVersions {
  readonly reachable: boolean;
  readonly version?: string;
  readonly runtime?: string;
}

/** The command must also work during installation, when no agent is running yet. */
async function fetchAgent({ api, signal }: CommandContext): Promise<AgentVersions> {
  try {
    const response = await api.json({ path: ['version'], signal });
    const facts = isObject(response) ? response : {};
    return { reachable: true, version: textMember(facts, 'version'), runtime: textMember(facts, 'runtime') };
  } catch (thrown) {
    if (!(thrown instanceof AgentUnreachableError)) throw thrown;
    return { reachable: false };
  }
}

const agentLines = ({ reachable, version = '', runtime = '' }: AgentVersions): string =>
  reachable ? `agent    ${version}\nruntime  ${runtime}\n` : 'agent    not reachable\n';
