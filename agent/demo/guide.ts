/** What the demo tells its user once the pods are up. */
import { relative } from 'node:path';
import type { PodLine } from './pod-line.ts';

export interface GuideFacts {
  readonly repository: string;
  readonly workingDir: string;
  readonly manifests: string;
  readonly agentLog: string;
  readonly lines: readonly PodLine[];
  /** Whether the agent ends with Ctrl-C, rather than running on in the background. */
  readonly foreground: boolean;
  /** Whether the reader is not root. */
  readonly sudo: boolean;
}

/** Commands that work as they stand, with a pod that is there. */
export function renderGuide(facts: GuideFacts): string {
  const here = relative(facts.workingDir, facts.repository);
  const become = facts.sudo ? 'sudo ' : '';
  const command = `${become}${here === '' ? '.' : here}/nodeagent`;
  const running = facts.lines.find((line) => line.status === 'Running' && line.settled) ?? facts.lines[0];
  const pod = running?.name.split('/')[1] ?? 'POD';
  const rows: readonly (readonly [string, string])[] = [
    ['list the pods', `${command} ps`],
    ['one of them in full', `${command} describe ${pod}`],
    ['what happened', `${command} events`],
    ['read its log', `${command} logs -f ${pod}`],
    ['a shell in it', `${command} exec -it ${pod} -- sh`],
    ['add a pod', `cp my-pod.yaml ${facts.manifests}/`],
    ['remove it', `rm ${facts.manifests}/my-pod.yaml`],
    ['the agent’s own log', `${become}tail -f ${facts.agentLog}`],
    ['stop and remove all', 'npm start -- --stop'],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  const ending = facts.foreground
    ? 'Ctrl-C stops the agent; the pods run on, and npm start takes them over again.'
    : 'The agent runs on in the background.';
  return [...rows.map(([what, text]) => `  ${what.padEnd(width)}   ${text}`), '', ending].join('\n');
}
