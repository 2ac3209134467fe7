import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { csvType, withByteOrderMark } from '../csv.ts';
import { showingWhatIsThere } from '../db/absent-parts.ts';
import { isOfNoChange } from '../edited.ts';
import { RequestError } from '../errors.ts';
import type { Access } from '../http/access.ts';
import {
  type FileAnswer,
  type Operation,
  type PathParameters,
  type RunOf,
  runAuthorized,
  sendFile,
} from '../http/operation.ts';
import { fillPath, type Parameters, readForm } from '../http/parameters.ts';
import { refusalMessage } from './errors.ts';
import { alert, fieldAlert, isUnfinished } from './form.ts';
import { type Html, html } from './html.ts';
import { type KeptFormDeps, takeKeptForm } from './kept-forms.ts';
import { type Page, sendPage } from './page.ts';
import type { Framed } from './preview.ts';
import type { View } from './view.ts';

/** A file for people; programs get theirs by {@link sendFile}, without a mark. */
export const sendDownload = (reply: FastifyReply, { content, ...file }: FileAnswer): Promise<FastifyReply> =>
  sendFile(reply, { ...file, content: file.type === csvType ? withByteOrderMark(content) : content });

const headersOfFrame = {
  'content-security-policy': `default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox; form-action 'none'; frame-ancestors 'self'; base-uri 'none'`,
  'x-frame-options': 'SAMEORIGIN',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
};

const sendFramed = (reply: FastifyReply, document: string | Framed): FastifyReply =>
  reply
    .headers(
      typeof document === 'string' ? headersOfFrame : { ...headersOfFrame, 'content-security-policy': document.policy },
    )
    .type('text/html; charset=utf-8')
    .send(typeof document === 'string' ? document : document.markup);

/** A request for a page: its authenticated requester, its path parameters by name, and how to render the answer. */
export type PageContext<Requester, Path extends string> = Requester &
  PathParameters<Path> & {
    readonly view: View;
    /** Reading it throws `invalid_request` if it is malformed. */
    readonly query: Parameters;
    readonly request: FastifyRequest;
    readonly reply: FastifyReply;
  };

/** Why a form was refused, to be shown above it. */
export type Refused = { readonly refusal: RequestError; readonly problem: Html | false; readonly form: Parameters };

type Redraw<Context> = {
  /** The path of the page with the form. */
  page: string;
  /** That page with a refusal. Without it, every refusal gets an error page. */
  redraw?(context: Context, refused: Refused): Page | Promise<Page>;
  /** Which refusals that page shows; those of fields if left out. */
  explains?(refusal: RequestError): boolean;
};

/** A path to redirect to, a page that is shown once, or an answer that has been sent. */
type Outcome = string | Page | FastifyReply;

/** Adds the pages of one kind of requester, and the forms on them. */
export function pagesFor<Deps extends KeptFormDeps, Requester extends object>(
  app: FastifyInstance,
  deps: Deps,
  access: Access<Deps, Requester>,
) {
  async function contextOf<Path extends string>(request: FastifyRequest, reply: FastifyReply) {
    const requester = await access.authenticate(deps, request);
    const context = {
      ...requester,
      ...(request.params as object),
      view: request.view,
      get query() {
        return request.queryParameters;
      },
      request,
      reply,
    };
    return context as unknown as PageContext<Requester, Path>;
  }

  const pages = {
    show<const Path extends string>(
      path: Path,
      draw: (context: PageContext<Requester, Path>) => Page | Promise<Page>,
    ): void {
      app.get(path, { config: { page: true } }, async (request, reply) => {
        const context = await contextOf<Path>(request, reply);
        if (isUnfinished(context.view.query)) request.keptForm = await takeKeptForm(deps, request);
        return showingWhatIsThere(async () => sendPage(reply, context.view, await draw(context)));
      });
    },

    /** A file that a page links to. */
    download<const Path extends string>(
      path: Path,
      make: (context: PageContext<Requester, Path>) => FileAnswer | Promise<FileAnswer>,
    ): void {
      app.get(path, { config: { page: true }, exposeHeadRoute: false }, async (request, reply) =>
        sendDownload(reply, await make(await contextOf<Path>(request, reply))),
      );
    },

    /** A document for a frame of a page. Unless it has a policy of its own, whatever is in it runs and loads nothing, and belongs to no origin. */
    frame<const Path extends string>(
      path: Path,
      make: (context: PageContext<Requester, Path>) => string | Framed | Promise<string | Framed>,
    ): void {
      app.get(path, { config: { page: true } }, async (request, reply) =>
        sendFramed(reply, await make(await contextOf<Path>(request, reply))),
      );
    },

    /** The same of a form that is sent to the frame, as often as one likes: it changes and keeps nothing. */
    framedForm<const Path extends string>(
      path: Path,
      make: (context: PageContext<Requester, Path>, form: Parameters) => Framed | Promise<Framed>,
      refused: (view: View, refusal: RequestError, problem: Html | false) => Framed,
    ): void {
      app.post(path, { config: { page: true, changesNothing: true } }, async (request, reply) => {
        try {
          return sendFramed(reply, await make(await contextOf<Path>(request, reply), readForm(request.body)));
        } catch (error) {
          if (!(error instanceof RequestError)) throw error;
          const problem = problemOf(request.view, error);
          return sendFramed(reply.code(error.status), refused(request.view, error, problem));
        }
      });
    },

    /** The `POST` of a form. Its effect is shown on another page (post/redirect/get), a secret at once. */
    post<const Path extends string>(
      path: Path,
      form: { act(context: PageContext<Requester, Path>, form: Parameters): Promise<Outcome> } & Redraw<
        PageContext<Requester, Path>
      >,
    ): void {
      const { page, act, redraw, explains } = form;
      app.post(path, { config: { page: true, form: page } }, async (request, reply) => {
        const context = await contextOf<Path>(request, reply);
        const parameters = readForm(request.body);
        return answerForm(reply, context.view, {
          act: () => act(context, parameters),
          redraw: redraw && ((refusal, problem) => redraw(context, { refusal, problem, form: parameters })),
          explains,
        });
      });
    },

    /** The `POST` of a form that runs an operation of the API, at the same path without `/v1` if none is given. */
    run<One extends Operation<Deps>, const Path extends string = One['path']>(
      operation: One,
      {
        path = operation.path.replace('/v1', '') as Path,
        input,
        done,
        ...rest
      }: {
        path?: Path;
        /** The part of the operation's input that is in the form. */
        input?(
          form: Parameters,
          context: PageContext<Requester, Path>,
        ): Partial<RunOf<One>['input']> | Promise<Partial<RunOf<One>['input']>>;
        /** A path, in which the path parameters are filled in, or a function of the result. */
        done:
          | string
          | ((result: RunOf<One>['result'], context: PageContext<Requester, Path>) => Outcome | Promise<Outcome>);
      } & Redraw<PageContext<Requester, Path>>,
    ): void {
      pages.post<Path>(path, {
        async act(context, form) {
          const given = { ...context, query: {}, body: undefined, ...(await input?.(form, context)) };
          const result = await runAuthorized(operation, deps, given);
          operation.setHeaders?.(context.reply, deps, { result, input: given });
          if (typeof done === 'string') return fillPath(done, context.request.params as Record<string, string>);
          return done(result as RunOf<One>['result'], context);
        },
        ...rest,
      });
    },
  };
  return pages;
}

/** Where a form leads that may have found nothing to change: `done` in the query of a page tells which. */
export const doneOrUnchanged =
  (page: string, done: string) =>
  (answer: unknown, { request }: { request: FastifyRequest }): string =>
    fillPath(`${page}?done=${isOfNoChange(answer) ? 'unchanged' : done}`, request.params as Record<string, string>);

/** A refusal that the page of the form explains is shown there, in the current state. */
export async function answerForm(
  reply: FastifyReply,
  view: View,
  steps: {
    act(): Promise<Outcome>;
    redraw?: (refusal: RequestError, problem: Html | false) => Page | Promise<Page>;
    explains?(refusal: RequestError): boolean;
  },
): Promise<FastifyReply> {
  const { act, redraw, explains = ({ problems }) => problems.length > 0 } = steps;
  try {
    const outcome = await act();
    if (typeof outcome === 'string') return reply.redirect(outcome, 303);
    // Fastify's reply is a thenable that resolves to undefined once the response has been sent.
    return outcome && 'content' in outcome ? sendPage(reply, view, outcome) : reply;
  } catch (error) {
    if (!(error instanceof RequestError) || !redraw || !explains(error)) throw error;
    if (error.retryAfter !== undefined) reply.header('retry-after', error.retryAfter);
    const problem = problemOf(view, error);
    return showingWhatIsThere(async () => sendPage(reply, view, await redraw(error, problem), error.status));
  }
}

function problemOf(view: View, refusal: RequestError): Html | false {
  const { problems, userMessage, code, message } = refusal;
  if (problems.length > 0) return fieldAlert(view, problems);
  if (!userMessage && code === 'stale_revision') return alert(view.t('admin.problem.stale'));
  if (!userMessage && code === 'invalid_state') return alert(view.t('admin.problem.state'));
  return alert(refusalMessage(view, refusal) ?? html`<span lang="en">${message}</span>`);
}
