(function () {
  'use strict';
  var all = function (s, e) { return Array.prototype.slice.call((e || document).querySelectorAll(s)); };
  var box = document.getElementById('filter'), pick = document.getElementById('state'), said = document.getElementById('said');
  document.documentElement.className = 'js';
  // An item is what the filter shows or hides; a note belongs to the row before it.
  var items = all('[data-item]').map(function (e) {
    return { e: e, text: (e.textContent + ' ' + (e.dataset.item || '')).toLowerCase(), states: (e.dataset.s || '').split(' '),
             note: e.nextElementSibling && e.nextElementSibling.classList.contains('note') ? e.nextElementSibling : null };
  });
  items.forEach(function (i) { if (i.note) i.text += ' ' + i.note.textContent.toLowerCase(); });
  function filter() {
    var words = box.value.toLowerCase().split(/\s+/).filter(Boolean), state = pick ? pick.value : '', shown = 0;
    items.forEach(function (i) {
      var on = words.every(function (w) { return i.text.indexOf(w) >= 0; }) && (!state || i.states.indexOf(state) >= 0);
      i.e.classList.toggle('hidden', !on);
      if (i.note) i.note.classList.toggle('hidden', !on);
      shown += on;
    });
    all('section').forEach(function (s) {
      var own = all('[data-item]', s), on = own.filter(function (e) { return !e.classList.contains('hidden'); }).length;
      if (own.length) s.classList.toggle('hidden', !on && (words.length > 0 || state !== ''));
      var count = own.length && s.querySelector(':scope > h3 .count');
      if (count) count.textContent = on === own.length ? own.length : on + ' of ' + own.length;
    });
    said.textContent = words.length || state ? shown + ' of ' + items.length : '';
  }
  function toggle(button) {
    var open = button.closest('tr').nextElementSibling.classList.toggle('open');
    button.setAttribute('aria-expanded', open);
  }
  function step(by) {
    var links = all('[data-item]:not(.hidden) a[id]').filter(function (e) { return e.offsetParent; });
    var at = links.indexOf(document.activeElement) + by;
    if (at < 0) box.focus(); else if (links[at]) { links[at].focus(); links[at].scrollIntoView({ block: 'nearest' }); }
  }
  box.addEventListener('input', filter);
  if (pick) pick.addEventListener('change', filter);
  document.addEventListener('click', function (event) {
    if (event.target.classList.contains('more')) toggle(event.target);
  });
  document.addEventListener('keydown', function (event) {
    var typing = document.activeElement === box, inRow = document.activeElement.closest && document.activeElement.closest('[data-item]');
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === '/' && !typing) { box.focus(); box.select(); event.preventDefault(); }
    else if (event.key === 'Escape') { box.value = ''; if (pick) pick.value = ''; filter(); box.focus(); }
    else if ((typing || inRow) && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      step(event.key === 'ArrowDown' ? 1 : -1); event.preventDefault();
    }
  });
  filter();
})();
