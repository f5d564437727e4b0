"""Commands of the services that run to their end: migrations, set-up steps, questions of operators."""

import asyncio
import subprocess
import sys
from collections.abc import Mapping, Sequence

from devstack.children import child_environment, launch_command
from devstack.errors import StackError


async def run_command(module_and_arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Run `python -m ...` to its end and return what it printed. Raises StackError when it fails."""
    process = await asyncio.create_subprocess_exec(
        *launch_command([sys.executable, "-m", *module_and_arguments]),
        env=child_environment(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    try:
        output, complaints = (words.decode(errors="replace") for words in await process.communicate())
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode != 0:
        command = " ".join(module_and_arguments)
        raise StackError(f"python -m {command} ended with {process.returncode}\n{output}{complaints}")
    return output
