import { acceptInvitation, invite, invited, noInvitation } from "../../access/invitations.js";
import { requireGoodPassword } from "../../access/passwords.js";
import { closeSessionsOf } from "../../access/sessions.js";
import { busy } from "../../errors.js";
import type { Reply, Request } from "../../http/types.js";
import { networkOf } from "../../queues/clients.js";
import { uncached } from "../request/caller.js";
import { answers, type Input, type Operation, operation } from "../request/operation.js";
import { projectPath } from "../request/paths.js";
import { jsonObject } from "../request/schema/bodies.js";
import { text } from "../request/schema/fields.js";
import { ref, type Values } from "../request/schema/schema.js";
import { sizes } from "../request/schema/sizes.js";
import type { Services } from "../services.js";
import { changingMembers, memberId, membersPath } from "./members.js";

/** Links by which users choose their passwords. */

async function make(request: Request, services: Services): Promise<Reply> {
  const { project, by } = await changingMembers(request, services);
  const which = { projectId: project.id, accountId: memberId(request), by };
  const { secret, endsAt } = await invite(services.db, which);
  return uncached({ invitation: secret, expires: endsAt.toISOString() });
}

const accepted = {
  invitation: text("The invitation, as an administrator got it."),
  password: text(
    "The password that the user chooses: at least 8 characters, and not the login. Default: none, which changes nothing and " +
      "tells whom the invitation is for.",
  ).optional(),
};

async function accept(
  request: Request,
  services: Services,
  { body }: Input<unknown, Values<typeof accepted>>,
): Promise<Reply> {
  const { db, redis, config, logins, catalog } = services;
  const project = await catalog.project(request.params.project!);
  const { invitation: secret, password } = await body();
  const { remoteAddress: address } = request;
  const find = () => invited(db, project.id, secret);
  const { accountId, login } = await logins.bySecret({ secret, address }, find, noInvitation);
  if (password !== undefined) {
    requireGoodPassword(login, password);
    const passwordHash = await logins.hash(password, networkOf(address), request.signal);
    const closeSessions = () =>
      closeSessionsOf(redis, config.redisPrefix, accountId).catch(() => {
        throw busy("The user's sessions cannot be ended just now.");
      });
    // First, too: where they cannot be ended just now, the invitation is not used up.
    await closeSessions();
    await acceptInvitation(db, project.id, { secret, passwordHash });
    await closeSessions();
  }
  return uncached({ login });
}

const once = { unconditionally: "An invitation is made and used up, and never changed." };

export const invitationOperations: readonly Operation[] = [
  operation({
    // Without an Idempotency-Key, which would keep the secret.
    id: "inviteMember",
    tag: "Sessions",
    counts: "writes",
    changes: once,
    summary: "Make an invitation for a user",
    details:
      "For users with the role `admin`. By the invitation the user chooses a password, once, within seven days; one that was made " +
      "before does not count any more. A user who belongs to other projects, too, gets none.",
    access: "token",
    methods: ["POST"],
    path: `${membersPath}/:member/invitation/`,
    answer: answers(
      "The invitation, which is shown only now. The page `/#project=<project>&invitation=<invitation>` asks for the password.",
      ref("Invitation"),
    ),
    refuses: [404, "invalid_value"],
    handle: make,
  }),
  operation({
    // Without an Idempotency-Key, which belongs to an account.
    id: "acceptInvitation",
    tag: "Sessions",
    counts: "writes",
    changes: once,
    summary: "Choose a password by an invitation",
    details:
      "It uses up the invitation and ends the user's sessions. An invitation that is unknown, used or over is answered with 403, and " +
      "counts as a failed login.",
    methods: ["POST"],
    path: `${projectPath}/invitation/`,
    body: jsonObject(accepted, sizes.small),
    answer: answers("The user, who logs in with the password now.", {
      type: "object",
      required: ["login"],
      properties: { login: { type: "string" } },
    }),
    refuses: ["invalid_value", "required_parameters"],
    handle: accept,
  }),
];
