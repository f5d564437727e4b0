"""The control plane: what keeps a turn on its way, and ends it. Each guard is a hook that reads the turn.

| guard | asked at | what it does |
|---|---|---|
| `limits` | pre_model_call | a notice before a limit (steps, searches, tokens, time); at it, the last answer |
| `drift` | pre_model_call | reminds a long turn of what it was about |
| `repetition` | post_tool_call | the same call again, two steps by turns; one that goes on meets its last answer |
| `changed_domain` | post_tool_call | searches that left the domain of the turn |
| `skipped_skill` | post_tool_call | the intent table asks for a skill that was not read |
| `order_claims` | post_model_call | only the user confirms or cancels an order; the answer is taken back |
| `hidden_conflicts` | pre_tool_call | a summary that hides what speaks against a marked product is not shown, once |

The notice before a limit is a `<system_notice>`; everything else answers what the model did and is a `<correction>`.
"""
