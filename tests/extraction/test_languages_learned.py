"""What is plainly said in nine languages becomes a memory; questions and one-off wishes do not."""

import tomllib
from pathlib import Path

import pytest

from reverie.context_window.evicted_excerpts import EvictedPart, ExcerptTarget, store_evicted_parts
from reverie.extraction.rule_extraction import extract_lessons
from reverie.testing import memory

# Sixteen plain statements a language: rules, prohibitions, decisions, facts of the environment,
# preferences, corrections, causes.
STATEMENTS = {
    "de": (
        "Führe die Tests immer mit bun aus.",
        "Pushe niemals direkt auf main.",
        "Wir haben uns für PostgreSQL entschieden.",
        "Der Staging-Host heißt heron.",
        "Ich bevorzuge kurze Antworten ohne Emojis.",
        "Nein, wir benutzen pnpm und nicht npm.",
        "Bitte keine Kommentare in den Code schreiben.",
        "Ab jetzt schreiben wir Commit-Nachrichten auf Englisch.",
        "Die Datenbank läuft auf Port 5433.",
        "Vor jedem Commit muss der Linter laufen.",
        "Ändere nie etwas im Ordner vendor.",
        "Wir bleiben bei REST und nehmen kein GraphQL.",
        "Die Ursache war ein veralteter Cache im Proxy.",
        "Antworte mir bitte immer auf Deutsch.",
        "Wir verwenden Python 3.12 in diesem Projekt.",
        "Frag mich, bevor du etwas löschst.",
    ),
    "fr": (
        "Lance toujours les tests avec bun.",
        "Ne pousse jamais directement sur main.",
        "Nous avons décidé d'utiliser PostgreSQL.",
        "Le serveur de staging s'appelle heron.",
        "Je préfère des réponses courtes sans emojis.",
        "Non, on utilise pnpm et pas npm.",
        "Pas de commentaires dans le code, s'il te plaît.",
        "À partir de maintenant, les messages de commit sont en anglais.",
        "La base de données tourne sur le port 5433.",
        "Avant chaque commit, il faut lancer le linter.",
        "Il ne faut rien modifier dans le dossier vendor.",
        "On reste sur REST, on ne prend pas GraphQL.",
        "La cause était un cache périmé dans le proxy.",
        "Réponds-moi toujours en français.",
        "Nous utilisons Python 3.12 dans ce projet.",
        "Demande-moi avant de supprimer quoi que ce soit.",
    ),
    "es": (
        "Ejecuta siempre los tests con bun.",
        "Nunca hagas push directamente a main.",
        "Hemos decidido usar PostgreSQL.",
        "El servidor de staging se llama heron.",
        "Prefiero respuestas cortas sin emojis.",
        "No, usamos pnpm y no npm.",
        "No pongas comentarios en el código.",
        "A partir de ahora los mensajes de commit van en inglés.",
        "La base de datos corre en el puerto 5433.",
        "Antes de cada commit hay que pasar el linter.",
        "No toques nada de la carpeta vendor.",
        "Nos quedamos con REST, nada de GraphQL.",
        "La causa era una caché obsoleta en el proxy.",
        "Respóndeme siempre en español.",
        "En este proyecto usamos Python 3.12.",
        "Pregúntame antes de borrar algo.",
    ),
    "pt": (
        "Rode sempre os testes com bun.",
        "Nunca faça push direto na main.",
        "Decidimos usar PostgreSQL.",
        "O servidor de staging se chama heron.",
        "Prefiro respostas curtas sem emojis.",
        "Não, a gente usa pnpm e não npm.",
        "Não coloque comentários no código.",
        "A partir de agora as mensagens de commit são em inglês.",
        "O banco de dados roda na porta 5433.",
        "Antes de cada commit é preciso rodar o linter.",
        "Não mexa em nada na pasta vendor.",
        "Vamos ficar com REST em vez de GraphQL.",
        "A causa era um cache antigo no proxy.",
        "Responda sempre em português.",
        "Neste projeto usamos Python 3.12.",
        "Me pergunte antes de apagar qualquer coisa.",
    ),
    "it": (
        "Esegui sempre i test con bun.",
        "Non fare mai push direttamente su main.",
        "Abbiamo deciso di usare PostgreSQL.",
        "Il server di staging si chiama heron.",
        "Preferisco risposte brevi senza emoji.",
        "No, usiamo pnpm e non npm.",
        "Non mettere commenti nel codice.",
        "D'ora in poi i messaggi di commit sono in inglese.",
        "Il database gira sulla porta 5433.",
        "Prima di ogni commit bisogna lanciare il linter.",
        "Non toccare niente nella cartella vendor.",
        "Restiamo su REST invece di GraphQL.",
        "La causa era una cache vecchia nel proxy.",
        "Rispondimi sempre in italiano.",
        "In questo progetto usiamo Python 3.12.",
        "Chiedimi prima di cancellare qualcosa.",
    ),
    "ru": (
        "Всегда запускай тесты через bun.",
        "Никогда не пушь напрямую в main.",
        "Мы решили использовать PostgreSQL.",
        "Стейджинг-сервер называется heron.",
        "Я предпочитаю короткие ответы без эмодзи.",
        "Нет, мы используем pnpm, а не npm.",
        "Не пиши комментарии в коде.",
        "С этого момента сообщения коммитов пишем на английском.",
        "База данных работает на порту 5433.",
        "Перед каждым коммитом нужно запускать линтер.",
        "Нельзя ничего менять в папке vendor.",
        "Остаёмся на REST, GraphQL не берём.",
        "Причина была в устаревшем кеше прокси.",
        "Отвечай мне всегда на русском.",
        "В этом проекте мы используем Python 3.12.",
        "Спрашивай меня, прежде чем что-то удалять.",
    ),
    "zh": (
        "测试一律用 bun 跑。",
        "绝对不要直接推送到 main。",
        "我们决定使用 PostgreSQL。",
        "预发布服务器叫 heron。",
        "我喜欢简短的回答，不要用表情符号。",
        "不对，我们用的是 pnpm，不是 npm。",
        "代码里不要写注释。",
        "以后提交信息都用英文写。",
        "数据库跑在 5433 端口。",
        "每次提交之前必须先跑 linter。",
        "禁止修改 vendor 目录下的任何文件。",
        "我们还是用 REST，不用 GraphQL。",
        "原因是代理里的缓存过期了。",
        "请始终用中文回答我。",
        "这个项目用的是 Python 3.12。",
        "删除任何东西之前先问我。",
    ),
    "ja": (
        "テストは必ず bun で実行してください。",
        "main に直接 push しないでください。",
        "データベースは PostgreSQL を使うことに決めました。",
        "ステージングのホストは heron です。",
        "短い回答のほうが好みです。",
        "いや、npm ではなく pnpm を使っています。",
        "コードにコメントは書かないで。",
        "今後コミットメッセージは英語で書いてください。",
        "DB は 5433 番ポートで動いています。",
        "コミットする前に必ず linter を実行すること。",
        "vendor フォルダは絶対に変更しないこと。",
        "GraphQL ではなく REST でいきましょう。",
        "原因はプロキシの古いキャッシュでした。",
        "いつも日本語で答えてください。",
        "このプロジェクトでは Python 3.12 を使っています。",
        "何かを消す前に私に確認してください。",
    ),
    "ko": (
        "테스트는 항상 bun으로 실행해줘.",
        "main에 직접 push하지 마세요.",
        "우리는 PostgreSQL을 쓰기로 결정했어.",
        "스테이징 호스트는 heron입니다.",
        "저는 짧은 답변을 선호합니다.",
        "아니, npm이 아니라 pnpm을 사용해.",
        "코드에 주석은 쓰지 말아줘.",
        "앞으로 커밋 메시지는 영어로 작성해줘.",
        "데이터베이스는 5433 포트에서 돌아가.",
        "커밋하기 전에 반드시 린터를 돌려야 해.",
        "vendor 폴더는 절대 수정하지 마.",
        "GraphQL 대신 REST로 가자.",
        "원인은 프록시의 오래된 캐시였어.",
        "항상 한국어로 대답해줘.",
        "이 프로젝트는 Python 3.12를 사용합니다.",
        "뭔가 삭제하기 전에 먼저 물어봐줘.",
    ),
}
ENOUGH = 10

# Questions, one-off wishes, suppositions, venting.
PASSING = {
    "de": (
        "Warum läuft der Test immer noch nicht?",
        "Behebe den Fehler in Zeile 3.",
        "Vielleicht sollten wir immer Redis nehmen.",
        "Das funktioniert nie, es ist zum Verzweifeln!",
        "Füg einen Button hinzu.",
        "Kannst du mir die Tests zeigen?",
        "Bitte mach die Tests grün.",
        "Die Datei ist leer.",
        "Der Server antwortet nicht mehr.",
        "Schreib mir einen Test für den Parser.",
        "Was haben wir zum Cache beschlossen?",
        "Ich habe keine Ahnung, was das soll.",
        "Nimm die zweite Zeile raus.",
        "Das ist immer noch falsch.",
        "Danke, das sieht gut aus.",
        "Nein, das meinte ich nicht.",
        "Verschieb die Funktion in die andere Datei.",
        "Zeig mir den Diff.",
        "Es gibt keine Tests für den Parser.",
        "Ich will das Layout ändern.",
        "Die Ursache kenne ich nicht.",
    ),
    "fr": (
        "Pourquoi le test ne passe jamais ?",
        "Corrige l'erreur à la ligne 3.",
        "Peut-être qu'on devrait toujours utiliser Redis.",
        "Ça ne marche jamais, c'est pénible !",
        "Ajoute un bouton.",
        "Peux-tu me montrer les tests ?",
        "Corrige les tests s'il te plaît.",
        "Le fichier est vide.",
        "Le serveur ne répond plus.",
        "Écris un test pour le parseur.",
        "Qu'est-ce qu'on a décidé pour le cache ?",
        "Je n'ai aucune idée.",
        "Enlève la deuxième ligne.",
        "C'est encore faux.",
        "Merci, c'est parfait.",
        "Non, ce n'est pas ce que je voulais.",
        "Déplace la fonction dans l'autre fichier.",
        "Montre-moi le diff.",
        "Il n'y a pas de tests pour le parseur.",
        "Je veux changer la mise en page.",
        "Je ne connais pas la cause.",
    ),
    "es": (
        "¿Por qué nunca pasa el test?",
        "Corrige el error de la línea 3.",
        "Quizás deberíamos usar siempre Redis.",
        "¡Esto nunca funciona!",
        "Añade un botón.",
        "¿Puedes mostrarme los tests?",
        "Arregla los tests por favor.",
        "El archivo está vacío.",
        "El servidor ya no responde.",
        "Escribe un test para el parser.",
        "¿Qué decidimos sobre la caché?",
        "No tengo ni idea.",
        "Quita la segunda línea.",
        "Sigue estando mal.",
        "Gracias, está perfecto.",
        "No, eso no es lo que quería.",
        "Mueve la función al otro archivo.",
        "Muéstrame el diff.",
        "No hay tests para el parser.",
        "Quiero cambiar el diseño.",
        "No sé cuál es la causa.",
    ),
    "pt": (
        "Por que o teste nunca passa?",
        "Corrija o erro da linha 3.",
        "Talvez devêssemos usar sempre Redis.",
        "Isso nunca funciona!",
        "Adicione um botão.",
        "Você pode me mostrar os testes?",
        "Corrija os testes por favor.",
        "O arquivo está vazio.",
        "O servidor não responde mais.",
        "Escreva um teste para o parser.",
        "O que decidimos sobre o cache?",
        "Não faço ideia.",
        "Tire a segunda linha.",
        "Continua errado.",
        "Obrigado, ficou perfeito.",
        "Não, não era isso que eu queria.",
        "Mova a função para o outro arquivo.",
        "Me mostre o diff.",
        "Não há testes para o parser.",
        "Quero mudar o layout.",
        "Não sei qual é a causa.",
    ),
    "it": (
        "Perché il test non passa mai?",
        "Correggi l'errore alla riga 3.",
        "Forse dovremmo usare sempre Redis.",
        "Non funziona mai!",
        "Aggiungi un pulsante.",
        "Puoi mostrarmi i test?",
        "Correggi i test per favore.",
        "Il file è vuoto.",
        "Il server non risponde più.",
        "Scrivi un test per il parser.",
        "Cosa abbiamo deciso per la cache?",
        "Non ne ho idea.",
        "Togli la seconda riga.",
        "È ancora sbagliato.",
        "Grazie, è perfetto.",
        "No, non era quello che volevo.",
        "Sposta la funzione nell'altro file.",
        "Mostrami il diff.",
        "Non ci sono test per il parser.",
        "Voglio cambiare il layout.",
        "Non so quale sia la causa.",
    ),
    "ru": (
        "Почему тест никогда не проходит?",
        "Исправь ошибку в строке 3.",
        "Может быть, нам всегда использовать Redis.",
        "Это никогда не работает!",
        "Добавь кнопку.",
        "Можешь показать тесты?",
        "Почини тесты, пожалуйста.",
        "Файл пустой.",
        "Сервер больше не отвечает.",
        "Напиши тест для парсера.",
        "Что мы решили насчёт кеша?",
        "Понятия не имею.",
        "Убери вторую строку.",
        "Всё ещё неправильно.",
        "Спасибо, отлично.",
        "Нет, я не это имел в виду.",
        "Перенеси функцию в другой файл.",
        "Покажи дифф.",
        "Для парсера нет тестов.",
        "Хочу поменять вёрстку.",
        "Не знаю, в чём причина.",
    ),
    "zh": (
        "为什么测试一直不过？",
        "帮我修复第 3 行的错误。",
        "也许我们应该一直用 Redis。",
        "怎么总是报错！",
        "加一个按钮。",
        "能给我看看测试吗？",
        "帮我把测试改好。",
        "这个文件是空的。",
        "服务器没有响应了。",
        "给解析器写一个测试。",
        "缓存的方案我们是怎么定的？",
        "我不知道怎么回事。",
        "把第二行删掉。",
        "还是不对。",
        "谢谢，很好。",
        "不是，我不是这个意思。",
        "把这个函数移到另一个文件。",
        "看一下 diff。",
        "解析器没有测试。",
        "我想改一下布局。",
        "现在样式乱了。",
    ),
    "ja": (
        "なぜテストがいつも失敗するの？",
        "3行目のエラーを直して。",
        "いつも Redis を使うべきかもしれない。",
        "全然動かない！",
        "ボタンを追加して。",
        "テストを見せてくれる？",
        "テストを直してください。",
        "ファイルが空です。",
        "サーバーが応答しません。",
        "パーサーのテストを書いて。",
        "キャッシュはどう決めたっけ？",
        "よく分かりません。",
        "2行目を消して。",
        "まだ間違っています。",
        "ありがとう、完璧です。",
        "いや、そういう意味じゃない。",
        "この関数を別のファイルに移して。",
        "差分を見せて。",
        "パーサーのテストがありません。",
        "レイアウトを変えて。",
        "画面が崩れています。",
    ),
    "ko": (
        "왜 테스트가 항상 실패하지?",
        "3번째 줄 오류를 고쳐줘.",
        "아마 항상 Redis를 써야 할지도 몰라.",
        "전혀 안 되잖아!",
        "버튼을 추가해줘.",
        "테스트 좀 보여줄래?",
        "테스트를 고쳐줘.",
        "파일이 비어 있어.",
        "서버가 응답하지 않아.",
        "파서 테스트를 작성해줘.",
        "캐시는 어떻게 하기로 했지?",
        "잘 모르겠어.",
        "두 번째 줄을 지워줘.",
        "아직도 틀렸어.",
        "고마워, 완벽해.",
        "아니, 그런 뜻이 아니야.",
        "이 함수를 다른 파일로 옮겨줘.",
        "diff 보여줘.",
        "파서에 대한 테스트가 없어.",
        "레이아웃을 바꿔줘.",
        "화면이 깨졌어.",
    ),
}


def learned(said: str) -> list[str]:
    return [lesson.text for lesson in extract_lessons([("user", said)]).lessons]


@pytest.mark.parametrize("code", STATEMENTS)
def test_plain_statements_are_learned(code):
    missed = [said for said in STATEMENTS[code] if not learned(said)]
    assert len(STATEMENTS[code]) - len(missed) >= ENOUGH, missed


@pytest.mark.parametrize("code", PASSING)
def test_questions_one_off_wishes_and_venting_are_not_learned(code):
    assert [said for said in PASSING[code] if learned(said)] == []


def bench_sentences() -> dict[str, dict[str, list[str]]]:
    """What users say in ten languages, written when the rules were done."""
    path = Path(__file__).parents[2] / "bench" / "extraction" / "languages.toml"
    return tomllib.loads(path.read_text("utf-8"))


@pytest.mark.parametrize(
    ("field", "least"), [("fact", 30), ("preference", 21), ("correction", 38), ("explicit", 29)]
)
@pytest.mark.proves("A64", "A65", "A66")
def test_sentences_that_the_rules_were_not_written_for_are_learned(field, least):
    """Facts of the code base, preferences, corrections and what is asked for in so many words."""
    heard = [("assistant", "I changed src/app.py and ran the tests.")]
    cases = [text for case in bench_sentences().values() for text in case[field]]
    found = [text for text in cases if extract_lessons([*heard, ("user", text)]).lessons]
    assert len(found) >= least, sorted(set(cases) - set(found))


@pytest.mark.proves("A63")
def test_passing_requests_in_ten_languages_teach_nothing():
    cases = [text for case in bench_sentences().values() for text in case["calm"]]
    assert [text for text in cases if learned(text)] == []


SPACE = "me/demo"


@pytest.mark.parametrize("code", [code for code in bench_sentences() if code != "en"])
@pytest.mark.proves("B103", "C83", "C107")
def test_a_session_in_another_language_teaches_like_an_english_one(code, clock):
    """Turn by turn, from a transcript, and from what left the context; without a language model."""
    case = bench_sentences()[code]
    said = [case["explicit"][1], case["fact"][2], case["correction"][3]]
    messages = [{"role": "user", "content": text} for text in said]
    kinds = {"negative", "fact"}
    with memory(now=clock, embedder="none") as mind:
        with mind.companion(SPACE, session="live") as companion:
            companion.turn(messages)
            assert companion.wait(120)
        mind.settle()
        live = mind.browse(space=SPACE, limit=100)
        assert kinds <= {one.kind for one in live}
        parts = [EvictedPart(text, "user", clock(), (n, n)) for n, text in enumerate(said)]
        left = ExcerptTarget("me/left", "s1")
        store_evicted_parts(mind.store, parts, left, clock())
        mind.record(
            "turn",
            {"messages": [{"role": "user", "text": text} for text in said]},
            space="me/left",
            session="s1",
        )
        mind.settle()
        assert kinds <= {one.kind for one in mind.browse(space="me/left", limit=100)}
    with memory(now=clock, embedder="none") as mind:
        past = mind.learn(messages, space=SPACE, session="past").memories
        assert kinds <= {one.kind for one in past}
