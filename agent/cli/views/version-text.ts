/** The version of the program. Pure. */
import { AGENT_VERSION } from '../../version.ts';

/** Formats `nodeagent 0.1.0`; raw includes the platform, for programs. */
export function versionText(raw: boolean): string {
  if (!raw) return `nodeagent ${AGENT_VERSION}\n`;
  const { arch, platform, version } = process;
  return `${JSON.stringify({ version: AGENT_VERSION, node: version, platform, arch })}\n`;
}
