"""placeholder"""
from datetime import datetime
from zoneinfo import ZoneInfo


def local(at: float, zone: str) -> str:
    """x"""
    return datetime.fromtimestamp(at, ZoneInfo(zone)).replace(tzinfo=None).isoformat()
