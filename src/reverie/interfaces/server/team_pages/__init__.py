"""The pages of a team's server: those of `interfaces/web` that make sense there, and its own.

    adapted    pages of one's own machine, seen by a reader of the server
    elsewhere  what is only on the machine where it happened, and why
    call       the verbs of members (`member_routes`), as pages call them
    spaces     the spaces that one has rights in: grants, trust, founding
    people     users, invitations, teams: for administrators
    keys       keys and sign-ins
    audit      who changed and who read what
    keeping    retention and legal holds

A page changes nothing by itself: it calls the verb that the API offers under the same name.
"""

from reverie.interfaces.server.team_pages.adapted import ADAPTED_PAGES
from reverie.interfaces.server.team_pages.elsewhere import ELSEWHERE
from reverie.interfaces.server.team_pages.team import TEAM
from reverie.interfaces.web.page import Page

TEAM_PAGES: tuple[Page, ...] = (*ADAPTED_PAGES, TEAM, ELSEWHERE)
