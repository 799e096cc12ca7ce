from bn_memorization import progress


def test_the_line_says_what_is_done_failed_left_and_how_long(capsys, monkeypatch):
    """Two of five runs were there; a run of most of the work has taken 30 s."""
    now = iter([100.0, 130.0, 160.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(now))
    with progress.Progress(total=5, left=3, work=12.0) as line:
        line.note(6.0)
        assert "0 failed, 2 left, about 00:30 to go" in line._bar.postfix
        line.note(4.0, failed=True)
        assert "1 failed, 1 left, about 00:12 to go" in line._bar.postfix
        assert line._bar.n == 4
    assert "4/5" in capsys.readouterr().err
