/** `nodeagent uninstall` */
import type { Command } from '../command.ts';
import { installCommand } from './install-command.ts';

export const command: Command = installCommand('uninstall');
