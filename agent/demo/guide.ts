/** Text that the demo prints once the pods are running. */
import { relative } from 'node:path';
import type { PodLine } from './pod-line.ts';

export interface GuideFacts {
  readonly repository: string;
  readonly workingDir: string;
  readonly manifests: string;
  readonly agentLog: string;
  readonly lines: readonly PodLine[];
  /** Whether Ctrl-C stops the agent, rather than leaving it in the background. */
  readonly foreground: boolean;
  /** Whether the user is not root. */
  readonly sudo: boolean;
}

/** Complete command lines with the name of an existing pod. */
export function renderGuide(facts: GuideFacts): string {
  const here = relative(facts.workingDir, facts.repository);
  const become = facts.sudo ? 'sudo ' : '';
  const command = `${become}${here === '' ? '.' : here}/nodeagent`;
  const running = facts.lines.find((line) => line.status === 'Running' && line.settled) ?? facts.lines[0];
  const pod = running?.name.split('/')[1] ?? 'POD';
  const rows: readonly (readonly [string, string])[] = [
    ['list the pods', `${command} ps`],
    ['show details of a pod', `${command} describe ${pod}`],
    ['list events', `${command} events`],
    ['follow its log', `${command} logs -f ${pod}`],
    ['open a shell in it', `${command} exec -it ${pod} -- sh`],
    ['add a pod', `cp my-pod.yaml ${facts.manifests}/`],
    ['remove it', `rm ${facts.manifests}/my-pod.yaml`],
    ['follow the log of the agent', `${become}tail -f ${facts.agentLog}`],
    ['stop and remove everything', 'npm start -- --stop'],
  ];
  const width = Math.max(...rows.map(([what]) => what.length));
  const ending = facts.foreground
    ? 'Ctrl-C stops the agent; the pods keep running, and npm start adopts them again.'
    : 'The agent keeps running in the background.';
  return [...rows.map(([what, text]) => `  ${what.padEnd(width)}   ${text}`), '', ending].join('\n');
}
