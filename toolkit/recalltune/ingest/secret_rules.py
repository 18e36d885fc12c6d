"""What secrets look like: the tables that `redact` works with. Nothing here runs.

Three sets of patterns, all for RE2. None has an open repetition before its last part: such a
pattern could be tried anew, over the same stretch of text, for every later match.
"""

from __future__ import annotations

__all__ = ["LEADS", "PLUGINS", "PLUGIN_FLAGS", "SPARED", "TOKENS"]

SPARED = r"\[redacted: [a-z ]{1,40}\]"
"""A mark set before: it has words such as `token` in it, which are no key words."""

TOKENS = (
    ("anthropic key", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("openrouter key", r"sk-or-v1-[0-9a-f]{32,}"),
    ("langfuse key", r"sk-lf-[0-9a-f-]{36}"),
    ("openai key", r"sk-(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}"),
    # A class name of a style sheet has no run of twenty letters and digits.
    ("openai key", r"sk-(?:[A-Za-z0-9]{1,16}-){0,3}[A-Za-z0-9]{20,}"),
    ("google api key", r"AIza[0-9A-Za-z_-]{35,}"),
    ("google oauth token", r"ya29\.[0-9A-Za-z_-]{20,}|GOCSPX-[0-9A-Za-z_-]{20,}"),
    ("hugging face token", r"hf_[A-Za-z0-9]{30,}"),
    ("github token", r"github_pat_[A-Za-z0-9_]{40,}|gh[pousr]_[A-Za-z0-9]{36,}"),
    ("gitlab token", r"gl(?:pat|dt|ft|soat|rt|ptt|oas|imt|cbt)-[A-Za-z0-9_-]{20,}"),
    ("npm token", r"npm_[A-Za-z0-9]{36,}"),
    ("groq key", r"gsk_[A-Za-z0-9]{40,}"),
    ("xai key", r"xai-[A-Za-z0-9]{60,}"),
    ("replicate token", r"r8_[A-Za-z0-9]{37,}"),
    ("perplexity key", r"pplx-[A-Za-z0-9]{40,}"),
    ("tavily key", r"tvly-(?:dev-|prod-)?[A-Za-z0-9]{28,}"),
    ("jina key", r"jina_[A-Za-z0-9_-]{50,}"),
    ("notion token", r"ntn_[A-Za-z0-9]{40,}|secret_[A-Za-z0-9]{43}"),
    ("linear key", r"lin_(?:api|oauth)_[A-Za-z0-9]{32,}"),
    ("figma token", r"figd_[A-Za-z0-9_-]{36,}"),
    ("airtable token", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    ("atlassian token", r"ATATT3[A-Za-z0-9_=-]{60,}"),
    ("sentry token", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}"),
    ("grafana token", r"gl(?:sa|c)_[A-Za-z0-9+/=_]{32,}"),
    ("new relic key", r"NRAK-[A-Z0-9]{27}"),
    ("vault token", r"hv[sbr]\.[A-Za-z0-9_-]{20,}"),
    ("doppler token", r"dp\.(?:pt|st|sa|ct|scim|audit)\.[A-Za-z0-9._-]{40,}"),
    ("docker token", r"dckr_(?:pat|oat)_[A-Za-z0-9_-]{20,}"),
    ("tailscale key", r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{16,}"),
    ("pulumi token", r"pul-[0-9a-f]{40}"),
    ("supabase key", r"sbp_[0-9a-f]{40}|sb_secret_[A-Za-z0-9_-]{20,}"),
    ("digitalocean token", r"do[opr]_v1_[0-9a-f]{64}"),
    ("heroku key", r"HRKU-[A-Za-z0-9_-]{36,}"),
    ("cloudflare key", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,}"),
    ("databricks token", r"dapi[0-9a-f]{32}"),
    ("shopify token", r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}"),
    ("stripe key", r"[rs]k_(?:live|test)_[0-9a-zA-Z]{16,}|whsec_[0-9A-Za-z+/=]{32,}"),
    ("slack token", r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-[A-Za-z0-9-]{20,}"),
    (
        "discord webhook",
        r"https://discord(?:app)?\.com/api/webhooks/[0-9]{5,25}/[A-Za-z0-9_-]{40,}",
    ),
    ("age secret key", r"AGE-SECRET-KEY-1[0-9A-Z]{40,}"),
)
"""Kind and form of tokens that say what they are by how they begin."""

_SECRET_WORD = (
    r"(?i:password|passwd|passphrase|passcode|pwd|secret|token|credentials?"
    r"|(?:api|access|account|auth|client|db|encryption|master|private|secret|service|sharedaccess"
    r"|signing)[_-]?key)|(?:\b|_)(?i:pass)|密码|口令|密钥|令牌"
)
_ASSIGNED = (
    # key = value, "key": "value", \"key\": \"value\", key is value
    rf"(?:{_SECRET_WORD})(?:\\{{0,3}}[\"'`])?\]?\*{{0,2}}"
    r"(?:[ \t]{0,3}(?::=|=>|::|={1,3}|:|：|是|为)\*{0,2}[ \t]{0,3}|[ \t]{1,3}(?:is|was)[ \t]{1,3})"
    r"[“「『@]?",
    # --password value, login name password value, --user name:value
    r"(?:^|[\s\"'\[])--(?:[a-z]{1,20}-){0,3}"
    r"(?:password|passwd|pass|token|secret|api-key)[ \t]{1,3}",
    r"\blogin[ \t]{1,3}[^\s]{1,64}[ \t]{1,3}password[ \t]{1,3}",
    r"\s(?:-u|--user)[ \t]{1,3}[\"']?[\w.@+-]{1,64}:",
)
"""Beginnings after which the value of a secret stands."""

LEADS = (
    ("json web token", r"\beyJ|\\[nrt]eyJ", r"[A-Za-z0-9_=-]{8}"),
    ("azure storage key", r"\b(?:AccountKey|SharedAccessKey)=", ""),
    ("azure signature", r"[?&]sig=", ""),
    ("password in an address", r"://", r"[^\s/:@?#=&]{0,64}:[^\s/@]"),
    (
        "basic credentials",
        r"(?i:authorization)\\{0,3}[\"']?:[ \t]{0,3}\\{0,3}[\"']?(?i:basic) ",
        "",
    ),
    ("bearer token", r"\b(?i:bearer)[ \t]{1,3}", ""),
    ("password", "|".join(_ASSIGNED), ""),
)
"""Kind, beginning, and what the prefilter wants after it.

`redact` reads the value, over a bounded stretch.

Of two that find the same secret, the first names it.
"""

PLUGIN_FLAGS = (
    r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{4}|[\"'][0-9a-zA-Z/+]{40}[\"']",
    r"gh[pousr]_[A-Za-z0-9_]{8}|GR1348941|gl(?:pat|dt|ft|soat|rt|cbt|imt|ptt|agent|oas)-",
    r"(?i:xox[abposr]-[0-9]|hooks\.slack\.com/|api.softlayer.com/)|T3BlbkFJ|pypi-AgE",
    r"SG\.[a-zA-Z0-9_-]{8}|sq0csp-|[rs]k_live_|[0-9a-z]{32}-us[0-9]|(?:AC|SK)[a-z0-9]{32}",
    r"[0-9]{8}:[0-9A-Za-z_-]{35}|[A-Za-z0-9_-]{24}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27}",
    r"AKC[a-zA-Z0-9]{10}|AP[0-9A-F][a-zA-Z0-9]{8}",
    # IBM, Cloudant, SoftLayer: a key word, some form of assignment, a long value
    r"(?i:key|pwd?|pw|pass|password|token)[\"']?\]?[ :=>]{1,12}[\"']?[A-Za-z0-9_-]{24}",
)
"""Beginnings, of bounded length, of whatever the rules of the plugins may find."""

PLUGINS = {
    "artifactory": ("ArtifactoryDetector", "artifactory credentials"),
    "aws": ("AWSKeyDetector", "aws access key"),
    "cloudant": ("CloudantDetector", "cloudant credentials"),
    "discord": ("DiscordBotTokenDetector", "discord bot token"),
    "github_token": ("GitHubTokenDetector", "github token"),
    "gitlab_token": ("GitLabTokenDetector", "gitlab token"),
    "ibm_cloud_iam": ("IbmCloudIamDetector", "ibm cloud key"),
    "ibm_cos_hmac": ("IbmCosHmacDetector", "ibm cos key"),
    "mailchimp": ("MailchimpDetector", "mailchimp key"),
    "openai": ("OpenAIDetector", "openai key"),
    "pypi_token": ("PypiTokenDetector", "pypi token"),
    "sendgrid": ("SendGridDetector", "sendgrid key"),
    "slack": ("SlackDetector", "slack token"),
    "softlayer": ("SoftlayerDetector", "softlayer credentials"),
    "square_oauth": ("SquareOAuthDetector", "square secret"),
    "stripe": ("StripeDetector", "stripe key"),
    "telegram_token": ("TelegramBotTokenDetector", "telegram bot token"),
    "twilio": ("TwilioKeyDetector", "twilio key"),
}
"""Module of detect-secrets -> class and kind.

Left out, because the leads here do more: Azure, addresses, JWT and npm (whose rule takes the rest
of the line), key words (which take key and line) and private keys (the header only).
"""
