/** `nodeagent completion` */
import { parseChoice } from '../args/arguments.ts';
import { type Command, defineCommand } from '../command.ts';
import { completionScript, SHELLS } from '../completion/scripts.ts';
import { UsageError } from '../errors.ts';

export const command: Command = defineCommand({
  name: 'completion',
  summary: 'Prints the completion script of a shell: commands, options, and names from the running agent.',
  usage: ['bash|zsh|fish'],
  options: {},
  examples: [
    ['completion bash > /etc/bash_completion.d/nodeagent', 'for every user of bash'],
    ['completion zsh > /usr/local/share/zsh/site-functions/_nodeagent', 'for every user of zsh'],
    ['completion fish > /etc/fish/completions/nodeagent.fish', 'for every user of fish'],
  ],
  async run(args, { out }) {
    const [shell, ...others] = args.positionals;
    if (shell === undefined || others.length > 0) throw new UsageError('completion requires one SHELL');
    await out.write(completionScript(parseChoice('SHELL', shell, SHELLS)));
    return 0;
  },
});
