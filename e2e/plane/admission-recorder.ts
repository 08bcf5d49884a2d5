/** Webhooks of both kinds that are called for everything and record their requests. */
import { eventually } from '../../testing/wait.ts';
import { startConversionWebhook } from './conversion-webhook.ts';
import { type Body, type Json, type Plane } from './support.ts';

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** A recorded request of a webhook. */
export interface ReviewRequest {
  readonly uid: string;
  /** `mutating` or `validating`. */
  readonly by: string;
  readonly operation: string;
  readonly kind: Kind;
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly subResource?: string;
  readonly name?: string;
  readonly namespace?: string;
  readonly userInfo: { readonly username: string };
  readonly object: (Body & Json) | null;
  readonly oldObject: (Body & Json) | null;
  readonly options: unknown;
}

/** The response to a request, without its uid. */
export type Judge = (requested: ReviewRequest) => Json;

export interface Recorder extends AsyncDisposable {
  /** Requests of the administrator since the last reset. */
  readonly requested: ReviewRequest[];
  /** Requests of other clients. */
  readonly askedByOthers: ReviewRequest[];
  judge: Judge;
}

const EVERYTHING = {
  operations: ['*'],
  apiGroups: ['*'],
  apiVersions: ['*'],
  resources: ['*/*'],
  scope: '*',
};

/** Resolves once both webhooks count. */
export async function startRecorder(plane: Plane): Promise<Recorder> {
  const recorder: Omit<Recorder, typeof Symbol.asyncDispose> = {
    requested: [],
    askedByOthers: [],
    judge: () => ({ allowed: true }),
  };
  const server = await startConversionWebhook((review) => {
    const { apiVersion, kind, request } = review as unknown as Json & { readonly request: ReviewRequest };
    const by = server.paths.at(-1)?.startsWith('/mutating') === true ? 'mutating' : 'validating';
    const requested = { ...request, by };
    if (request.userInfo.username === 'admin') recorder.requested.push(requested);
    else recorder.askedByOthers.push(requested);
    return { apiVersion, kind, response: { uid: request.uid, ...recorder.judge(requested) } };
  });
  const path = plane.path('admissionregistration/v1', '');
  for (const kind of ['mutating', 'validating']) {
    await plane.post(`${path}${kind}webhookconfigurations`, {
      metadata: { name: 'recorder' },
      webhooks: [
        {
          name: 'recorder.example.com',
          clientConfig: { url: `https://127.0.0.1:${server.port}/${kind}`, caBundle: server.caBundle },
          rules: [EVERYTHING],
          sideEffects: 'None',
          admissionReviewVersions: ['v1'],
        },
      ],
    });
  }
  await eventually(async () => {
    recorder.requested.length = 0;
    await plane.post('/api/v1/namespaces/default/configmaps?dryRun=All', { metadata: { name: 'probe' } });
    return recorder.requested.length === 2;
  });
  recorder.requested.length = 0;
  return Object.assign(recorder, {
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  });
}
