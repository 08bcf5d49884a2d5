/** HTTP probe: 200 to 399 is success. */
import { HttpGetError, type HttpGetRequest, httpGet } from './http-get.ts';
import type { ProbeResult } from './probe-types.ts';

export async function probeHttp(request: HttpGetRequest, signal: AbortSignal): Promise<ProbeResult> {
  try {
    const { statusCode, body, location } = await httpGet(request, signal);
    if (statusCode < 200 || statusCode >= 400) {
      return { outcome: 'failure', output: `HTTP probe failed with statuscode: ${statusCode}` };
    }
    if (statusCode < 300) return { outcome: 'success', output: body };
    const target = location === undefined ? 'without a usable target' : `to ${location}`;
    return { outcome: 'warning', output: `redirect ${target} was not followed (${statusCode})` };
  } catch (thrown) {
    if (thrown instanceof HttpGetError) return { outcome: 'failure', output: thrown.message };
    throw thrown;
  }
}
